/**
 * Returns the identity of the folder that a source was read from, as upstream 3.11 notes it: `sync` compares it before it
 * removes anything. Used by the feeders in the folders beside this file.
 */
import { statSync } from "node:fs";

/** Decimal; undefined on a file system that has none. */
export function inodeOf(folder: string): string | undefined {
  const inode = statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
  return inode === undefined || inode === 0n ? undefined : String(inode);
}
