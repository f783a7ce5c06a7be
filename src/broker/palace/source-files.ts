/**
 * The files that drawers name as their sources, as this machine sees them: what `sync` needs to know. Reads names,
 * states and .gitignore files, never a document. The composition root opens it; the engine sees the SourceFiles port.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StagedOriginals } from "../../platform/staging.ts";
import type { SourceFiles } from "../../port/source.ts";

const GITIGNORE_SIZE_MAX_BYTES = 1024 * 1024;

/** `stagingDir`: the docs feeder's copies of this user. */
export function openSourceFiles(stagingDir: string): SourceFiles {
  const staged = new StagedOriginals(stagingDir);
  return {
    ...FILES,
    original: (sourceFile) => staged.original(sourceFile),
    stagedAs: (path) => staged.stagedAs(path),
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
    try {
      return String(statSync(folder, { bigint: true }).ino);
    } catch {
      return undefined;
    }
  },
};

/** A longer path cannot exist, so nothing is looked up. Source: PATH_MAX of Linux. */
const PATH_SIZE_MAX_BYTES = 4096;

/** Follows links as far as the path exists; the rest stays as it is written. */
function resolve(path: string): string | undefined {
  if (Buffer.byteLength(path) > PATH_SIZE_MAX_BYTES) return undefined;
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) return undefined;
    const folder = resolve(dirname(path));
    return folder === undefined ? undefined : join(folder, basename(path));
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
