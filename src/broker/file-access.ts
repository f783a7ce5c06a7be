/**
 * Decides which files of the broker's machine a peer may see. A peer on the user's socket, or an admin, sees all files. Any other peer sees
 * only the folders that the owner opened. Through a link that leads out of these folders, the peer cannot even see whether a file exists.
 */
import { resolve, sep } from "node:path";
import { canBePath } from "../base/path-size.ts";
import { realPath } from "../base/real-path.ts";
import type { SourceFiles } from "../memory/port/source.ts";
import type { Peer } from "./peer.ts";

export function seesAll({ door, role }: Peer): boolean {
  return door === "unix" || role === "admin";
}

/**
 * Returns true if the spelling of the path is inside an opened folder; isReallyOpened checks links. Refuses a path with "..": after a link,
 * ".." leads to another folder than the spelling shows.
 */
export function isOpened(path: string, roots: readonly string[]): boolean {
  if (!canBePath(path) || path.split("/").includes("..")) return false;
  return roots.some((root) => isInside(resolve(path), resolve(root)));
}

/** Returns true if `path`, whose links are resolved, is inside an opened folder. */
export function isReallyOpened(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => isInside(path, realPath(root) ?? resolve(root)));
}

/** Returns the files as the peer may see them. A file that is not opened to the peer has an unknown state: neither present nor deleted. */
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
