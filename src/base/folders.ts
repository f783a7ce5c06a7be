/**
 * Makes files and folders that survive a power cut. Every sync before we report a write as done is in this file. Syncing a file saves its
 * bytes; syncing its folder saves its name.
 */
import { closeSync, existsSync, fdatasyncSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Hook between our code and the disk, for tests; `sync` does the real sync. */
export type Disk = (fd: number, sync: () => void) => void;

let disk: Disk = (_fd, sync) => sync();

/** Replaces the hook and returns the previous hook. Only tests call this: they count syncs, fail them, or lose unsynced bytes. */
export function exchangeDisk(other: Disk): Disk {
  const before = disk;
  disk = other;
  return before;
}

/** Syncs a file's bytes and metadata, or the names in a folder. */
export function syncFile(fd: number): void {
  disk(fd, () => fsyncSync(fd));
}

/** Syncs a file's bytes and length, without its times. */
export function syncData(fd: number): void {
  disk(fd, () => fdatasyncSync(fd));
}

/** Syncs a file's content, or the names in a folder. */
export function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    syncFile(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a folder and its missing parents. Does not use Node's `recursive`, which tries for ever in a folder such as /proc. */
export function makeFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode);
  mkdirSync(path, { mode });
}

/**
 * Makes a folder and its missing parents, and syncs their names to the disk, also if another process has just made the folders. For folders
 * whose files must survive a power cut.
 */
export function keepFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 }) ?? path;
  for (let made = path; ; made = dirname(made)) {
    try {
      syncPath(dirname(made));
    } catch (error) {
      // EACCES: this user may enter the folder but not read it, so this process cannot sync the folder.
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
    if (made === first || made === dirname(made)) return;
  }
}
