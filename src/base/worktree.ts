/** Finds the project of a git worktree; sessions and notes use the project's name. Only reads. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { readHead } from "./regular-file.ts";

/** Matches a worktree that Claude Code made inside the project. The path is recognised even after the worktree is deleted. */
const OF_CLAUDE = /^(.+?)[\\/]\.claude[\\/]worktrees[\\/]/;
/** Maximum size of a `.git` file that we read; no path is longer. */
const GIT_FILE_MAX_BYTES = 16 * 1024;

/** Returns the folder itself; if `folder` is in a worktree, the corresponding folder of the project. */
export function projectFolder(folder: string): string {
  const [, claude] = OF_CLAUDE.exec(folder) ?? [];
  if (claude !== undefined) return claude;
  const repository = isAbsolute(folder) ? findAbove(folder, [".git"]) : undefined;
  const main = repository === undefined ? undefined : mainOf(repository);
  return repository === undefined || main === undefined ? folder : join(main, relative(repository, folder));
}

/** Returns the main repository of a worktree, whose `.git` is a file that names `MAIN/.git/worktrees/NAME`. */
export function mainOf(repository: string): string | undefined {
  try {
    const git = join(repository, ".git");
    if (!statSync(git).isFile()) return undefined;
    const [, main] = /^gitdir: (.+)\/\.git\/worktrees\/[^/]+\s*$/.exec(readHead(git, GIT_FILE_MAX_BYTES)) ?? [];
    return main === undefined ? undefined : resolve(repository, main);
  } catch {
    return undefined;
  }
}

/** Returns the folder with git's own files, which all worktrees share. Errors: file system errors, usually for a missing `.git`. */
export function commonFolder(repository: string): string {
  const git = join(repository, ".git");
  if (statSync(git).isDirectory()) return git;
  const [, named = ""] = /^gitdir: (.+)/.exec(readHead(git, GIT_FILE_MAX_BYTES)) ?? [];
  const own = resolve(repository, named.trim());
  const shared = join(own, "commondir");
  return existsSync(shared) ? resolve(own, readHead(shared, GIT_FILE_MAX_BYTES).trim()) : own;
}

/** Returns true if `folder` is a worktree of a repository whose main checkout, with the same documents, is at `root` or below. */
export function isCopyWithin(root: string, folder: string): boolean {
  const main = mainOf(folder);
  const isWithin = main === root || main?.startsWith(`${root}/`) === true;
  // A repository without the file `index` is bare: it has no checked-out documents.
  return main !== undefined && isWithin && existsSync(join(main, ".git", "index"));
}

/** Returns the nearest folder, from `folder` upwards, that has an entry with one of the names. */
export function findAbove(folder: string, names: readonly string[]): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (names.some((name) => existsSync(join(at, name)))) return at;
    if (at === dirname(at)) return undefined;
  }
}
