/**
 * Finds the identity of the folder that a source was read from. As in upstream 3.11, `sync` compares this identity before it removes
 * anything.
 */
import { statSync } from "node:fs";

/** Returns the folder's inode number; undefined if the folder does not exist or its file system has no inodes. */
export function inodeOf(folder: string): string | undefined {
  const inode = statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
  return inode === undefined || inode === 0n ? undefined : String(inode);
}
