/** Reads states, links and .gitignore files of drawers' source files on this machine, for `sync`. It never reads a document. */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { canBePath } from "../../base/path-size.ts";
import { StagedOriginals } from "../../base/staging.ts";
import type { SourceFiles } from "../../memory/port/source.ts";
import { orElse } from "../../base/or-else.ts";

const GITIGNORE_SIZE_MAX_BYTES = 1024 * 1024;

/** Opens the source files. `stagingDir`: folder with the copies that the docs feeder made for this user. */
export function openSourceFiles(stagingDir: string): SourceFiles {
  const staged = new StagedOriginals(stagingDir);
  return {
    ...FILES,
    original: (sourceFile) => (canBePath(sourceFile) ? staged.original(sourceFile) : undefined),
    stagedAs: (path) => (canBePath(path) ? staged.stagedAs(path) : []),
  };
}

const FILES: Omit<SourceFiles, "original" | "stagedAs"> = {
  state(path) {
    try {
      return statSync(path).isFile() ? "file" : "other";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENOENT" ? "absent" : "unknown";
    }
  },
  resolve,
  isProject: (folder) => exists(join(folder, ".git")) || exists(join(folder, ".gitignore")),
  ignoreRules(folder) {
    const file = join(folder, ".gitignore");
    try {
      const stat = lstatSync(file);
      return stat.isFile() && stat.size <= GITIGNORE_SIZE_MAX_BYTES ? readFileSync(file, "utf8") : undefined;
    } catch {
      return undefined;
    }
  },
  directoryId(folder) {
    return orElse(() => String(statSync(folder, { bigint: true }).ino), undefined);
  },
};

/** Resolves links in the part of the path that exists; the rest stays as written. */
function resolve(path: string): string | undefined {
  if (!canBePath(path)) return undefined;
  const names = (isAbsolute(path) ? path : `./${path}`).split("/");
  const upTo = (count: number): string => names.slice(0, count).join("/") || "/";
  try {
    // Usually the whole path exists. Otherwise a binary search finds the part that exists, because a path may have two thousand folders.
    let [there, gone] = [1, names.length + 1];
    for (let at = names.length; gone - there > 1; at = Math.floor((there + gone) / 2)) {
      if (statSync(upTo(at), { throwIfNoEntry: false }) === undefined) gone = at;
      else there = at;
    }
    return join(realpathSync(upTo(there)), ...names.slice(there));
  } catch {
    return undefined;
  }
}

/** Returns false also for an invalid name, and for a path that this user may not see. */
function exists(path: string): boolean {
  return orElse(() => statSync(path, { throwIfNoEntry: false }) !== undefined, false);
}
