/** Finds the main repository of a git worktree, because sessions in a worktree belong to the project of the main repository. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { readHead } from "./regular-file.ts";

/** Matches a worktree that Claude Code made inside the project, even after the worktree is deleted. */
const OF_CLAUDE = /^(.+?)[\\/]\.claude[\\/]worktrees[\\/]/;
const GIT_FILE_MAX_BYTES = 16 * 1024;

/** Returns `folder`. In a worktree: the same folder in the main repository. In Claude Code's worktree: the project's folder. */
export function projectFolder(folder: string): string {
  const [, claude] = OF_CLAUDE.exec(folder) ?? [];
  if (claude !== undefined) return claude;
  const repository = isAbsolute(folder) ? findAbove(folder, [".git"]) : undefined;
  const main = repository === undefined ? undefined : mainOf(repository);
  return repository === undefined || main === undefined ? folder : join(main, relative(repository, folder));
}

/** Returns the main repository of a worktree, in which `.git` is a file with the path `MAIN/.git/worktrees/NAME`. */
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

/** Returns the `.git` folder that all worktrees of a repository share. Errors: file system errors, usually for a missing `.git`. */
export function commonFolder(repository: string): string {
  const git = join(repository, ".git");
  if (statSync(git).isDirectory()) return git;
  const [, named = ""] = /^gitdir: (.+)/.exec(readHead(git, GIT_FILE_MAX_BYTES)) ?? [];
  const own = resolve(repository, named.trim());
  const shared = join(own, "commondir");
  return existsSync(shared) ? resolve(own, readHead(shared, GIT_FILE_MAX_BYTES).trim()) : own;
}

/** Returns true if `folder` is a worktree whose main repository is at `root` or below and has the same documents checked out. */
export function isCopyWithin(root: string, folder: string): boolean {
  const main = mainOf(folder);
  const isWithin = main === root || main?.startsWith(`${root}/`) === true;
  // A repository without the file `index` is bare, so it has no checked-out documents.
  return main !== undefined && isWithin && existsSync(join(main, ".git", "index"));
}

/** Returns the nearest folder, from `folder` upwards, that contains one of the names. */
export function findAbove(folder: string, names: readonly string[]): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (names.some((name) => existsSync(join(at, name)))) return at;
    if (at === dirname(at)) return undefined;
  }
}
