/**
 * Decides which files of the broker's machine a peer may learn of: the one rule for the tool `mine`, for `sync`, and
 * for everything else that reads files for a peer. A peer on the user's socket has the broker's own access anyway; an
 * agent of another machine sees what the owner has opened to it, and nothing through a link that leads out of it, not
 * even whether something exists.
 */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { canBePath } from "../base/path-size.ts";
import type { SourceFiles } from "../memory/port/source.ts";
import type { Peer } from "./peer.ts";

export function seesAll({ door, role }: Peer): boolean {
  return door === "unix" || role === "admin";
}

/**
 * Decides by the path's spelling alone; isReallyOpened tells whether links lead out of it. A path with ".." is not opened: behind a
 * link that means another folder than its spelling says.
 */
export function isOpened(path: string, roots: readonly string[]): boolean {
  if (!canBePath(path) || path.split("/").includes("..")) return false;
  return roots.some((root) => isInside(resolve(path), resolve(root)));
}

/** `path` has its links resolved. */
export function isReallyOpened(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => isInside(path, realOf(root)));
}

/** The files as that peer may see them: files that are not opened to it count neither as present nor as deleted. */
export function filesFor(peer: Peer, files: SourceFiles, roots: readonly string[]): SourceFiles {
  if (seesAll(peer)) return files;
  const opened = (path: string): boolean => {
    if (!isOpened(path, roots)) return false;
    const real = files.resolve(path);
    return real !== undefined && isReallyOpened(real, roots);
  };
  return {
    state: (path) => (opened(path) ? files.state(path) : "unknown"),
    resolve: (path) => (opened(path) ? files.resolve(path) : undefined),
    isProject: (folder) => opened(folder) && files.isProject(folder),
    ignoreRules: (folder) => (opened(folder) ? files.ignoreRules(folder) : undefined),
    directoryId: (folder) => (opened(folder) ? files.directoryId(folder) : undefined),
    original: (sourceFile) => {
      const found = files.original(sourceFile);
      return found !== undefined && opened(found) ? found : undefined;
    },
    stagedAs: (path) => (opened(path) ? files.stagedAs(path) : []),
  };
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

function realOf(root: string): string {
  try {
    return realpathSync(root);
  } catch {
    return resolve(root);
  }
}
