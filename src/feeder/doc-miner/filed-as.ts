/** Under which names a file of the user's may stand in the memory: its own path, and those of its staged copies. Reads only. */
import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { findStage, knownRoots, stagedPath } from "./stage.ts";

/** As it was given comes first: a source may be a bare name. */
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
