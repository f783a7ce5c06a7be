/**
 * Returns the identity of the folder that a source was read from, as upstream 3.11 notes it. `sync` compares this identity before it
 * removes anything. All feeders use it.
 */
import { statSync } from "node:fs";

/** Returns a decimal number; undefined on a file system without inodes. */
export function inodeOf(folder: string): string | undefined {
  const inode = statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
  return inode === undefined || inode === 0n ? undefined : String(inode);
}
