/** Finds the project of a file: a folder above it that was filed before, has a project file or is under version control. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { PROJECT_FILES, wingOfFolder } from "../../base/project-names.ts";
import { readProject } from "./project.ts";
import { findAbove, projectFolder } from "../../base/worktree.ts";
import { findStage, knownRoots, readManifest } from "./staging-area.ts";

export type Root = { root: string; from: { why: string; wing: string | undefined } };

/** Returns the folder that a run would scan: `dir`, else the project of `file`, else the folder of `file`. */
export function findRoot(file: string, { dir, cacheDir }: { dir: string | undefined; cacheDir: string }): Root {
  if (dir !== undefined) return { root: realpathSync(dir), from: { why: "--dir", wing: undefined } };
  return (
    findProject(file, cacheDir) ?? { root: dirname(file), from: { why: "the file's own folder", wing: undefined } }
  );
}

/** Returns the project of a folder and its wing; undefined outside of every project. Never throws. */
export async function projectAround(
  folder: string,
  cacheDir: string,
): Promise<{ root: string; wing: string } | undefined> {
  const found = findProject(join(folder, "any"), cacheDir);
  if (found === undefined) return undefined;
  const { root, from } = found;
  // With an invalid project file, `palace add` must still work, so the folder's name becomes the wing.
  const wing = from.wing ?? (await readProject(projectFolder(root), undefined).catch(() => undefined))?.wing;
  return { root, wing: wing ?? wingOfFolder(projectFolder(root)) };
}

function findProject(file: string, cacheDir: string): Root | undefined {
  const before = knownRoots(cacheDir).find(({ root }) => file.startsWith(`${root}${sep}`) && existsSync(root));
  if (before !== undefined) return { root: before.root, from: { why: "filed from here before", wing: before.wing } };
  const configured = findAbove(dirname(file), PROJECT_FILES);
  if (configured !== undefined) return { root: configured, from: { why: "has a mempalace.yaml", wing: undefined } };
  const versioned = findAbove(dirname(file), [".git", ".hg", ".jj"]);
  return versioned === undefined
    ? undefined
    : { root: versioned, from: { why: "is under version control", wing: undefined } };
}

/** Lists the folders below `dir` that are filed in another wing of this palace than `wing`, the wing of `dir`. */
export function filedElsewhere(
  dir: string,
  wing: string | undefined,
  place: { cacheDir: string; palace: string },
): { root: string; wing: string; files: number }[] {
  if (!existsSync(dir)) return [];
  const real = realpathSync(dir);
  return knownRoots(place.cacheDir)
    .filter((one) => one.root.startsWith(`${real}${sep}`) && one.wing !== wing && existsSync(one.root))
    .map((one) => ({ ...one, files: Object.keys(readManifest(findStage({ ...place, ...one }))?.files ?? {}).length }))
    .filter(({ files }) => files > 0);
}
