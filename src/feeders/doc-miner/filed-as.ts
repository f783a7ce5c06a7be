/** Finds the source names under which a file may be filed, the original of a staged copy, and a source's short path for users. */
import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { findStage, identityOf, knownRoots, stagedPath } from "./staging-area.ts";

/** Returns the possible sources of a file: the name as given, its paths and the paths of its staged copies. */
export function namesOf(file: string, place: { cacheDir: string; palace: string }): string[] {
  const path = resolve(file);
  const real = existsSync(path) ? realpathSync(path) : path;
  const staged = knownRoots(place.cacheDir).flatMap(({ root, wing }) => {
    const inside = relative(root, real);
    if (inside === "" || inside.startsWith("..") || isAbsolute(inside)) return [];
    return [stagedPath(findStage({ ...place, wing, root }), inside)];
  });
  return [...new Set([file, path, real, ...staged])];
}

/** Lists the existing files of which `sourceFile` may be a staged copy, made in this home directory or another one. */
export function originalsOf(sourceFile: string, place: { cacheDir: string; palace: string }): string[] {
  const originals = knownRoots(place.cacheDir).flatMap(({ root, wing }) => {
    const identity = identityOf(sourceFile, wing);
    if (identity === undefined) return [];
    const stage = findStage({ ...place, wing, root });
    const inside = relative(stagedPath(stage, ""), join(stage.home, identity));
    return inside === "" || inside.startsWith("..") ? [] : [join(root, inside)];
  });
  return [...new Set(originals)].filter((path) => existsSync(path));
}

/** Returns a source's path for users, relative to its project, the working directory, the home or the staging area. */
export function shownPath(
  source: string,
  place: { cacheDir: string; palace: string; cwd: string; home: string },
): string {
  const [file = source] = originalsOf(source, place);
  const roots = knownRoots(place.cacheDir).map(({ root }) => root);
  const inside = [...roots, place.cwd].map((root) => relative(root, file)).find(isBelow);
  if (inside !== undefined && isAbsolute(file)) return inside;
  const staged = source.split("/mempalace-docs/")[1];
  if (file === source && staged !== undefined) return staged;
  return typedPath(file, place.home);
}

/** Replaces the home at the beginning by `~`. */
export function typedPath(file: string, home: string): string {
  const ofHome = relative(home, file);
  return isAbsolute(file) && isBelow(ofHome) ? join("~", ofHome) : file;
}

export function isBelow(path: string): boolean {
  return path !== "" && !/^\.\.(?:\/|$)/.test(path) && !isAbsolute(path);
}
