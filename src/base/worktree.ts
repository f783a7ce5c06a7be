/** Finds the project of a git worktree, whose name is the name of its sessions and notes, too. Reads only. */
import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { readHead } from "./regular-file.ts";

/** Claude Code makes worktrees in the project; they are recognised by their path after they are gone, too. */
const OF_CLAUDE = /^(.+?)[\\/]\.claude[\\/]worktrees[\\/]/;
/** Longer than any path. */
const GIT_FILE_MAX_BYTES = 16 * 1024;

/** Returns the folder itself, or for one in a worktree the same folder of the project. */
export function projectFolder(folder: string): string {
  const [, claude] = OF_CLAUDE.exec(folder) ?? [];
  if (claude !== undefined) return claude;
  const repository = isAbsolute(folder) ? findAbove(folder, [".git"]) : undefined;
  const main = repository === undefined ? undefined : mainOf(repository);
  return repository === undefined || main === undefined ? folder : join(main, relative(repository, folder));
}

/** `.git` of a worktree is a file that names `MAIN/.git/worktrees/NAME`. */
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

/**
 * Returns the folder with git's own files, which all worktrees of the repository share. Errors: those of the file system, above all
 * without a `.git`.
 */
export function commonFolder(repository: string): string {
  const git = join(repository, ".git");
  if (statSync(git).isDirectory()) return git;
  const [, named = ""] = /^gitdir: (.+)/.exec(readHead(git, GIT_FILE_MAX_BYTES)) ?? [];
  const own = resolve(repository, named.trim());
  const shared = join(own, "commondir");
  return existsSync(shared) ? resolve(own, readHead(shared, GIT_FILE_MAX_BYTES).trim()) : own;
}

/** True for a worktree of a repository that is checked out at `root` or below it: its documents are there as well. */
export function isCopyWithin(root: string, folder: string): boolean {
  const main = mainOf(folder);
  const isWithin = main === root || main?.startsWith(`${root}/`) === true;
  // A bare repository has no index, and no documents of its own.
  return main !== undefined && isWithin && existsSync(join(main, ".git", "index"));
}

/** Returns the nearest of the folder and those above it that has an entry of one of the names. */
export function findAbove(folder: string, names: readonly string[]): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (names.some((name) => existsSync(join(at, name)))) return at;
    if (at === dirname(at)) return undefined;
  }
}
