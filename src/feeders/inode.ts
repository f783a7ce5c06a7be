/** Finds the identity of a source's folder, which `sync` compares before it removes anything, as in upstream 3.11. */
import { statSync } from "node:fs";

/** Returns the folder's inode number; undefined if the folder does not exist or its file system has no inodes. */
export function inodeOf(folder: string): string | undefined {
  const inode = statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
  return inode === undefined || inode === 0n ? undefined : String(inode);
}
