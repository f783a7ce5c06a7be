/** Finds a folder's inode, which is stored with the drawers. `sync` keeps drawers whose folder has another inode, as in upstream 3.11. */
import { statSync } from "node:fs";

/** Returns undefined if the folder does not exist or its file system has no inodes. */
export function inodeOf(folder: string): string | undefined {
  const inode = statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
  return inode === undefined || inode === 0n ? undefined : String(inode);
}
