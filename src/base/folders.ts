/**
 * Files and names that survive a power cut: the one place where anything of ours is synced, and folders made step by
 * step. Only what was synced is on the disk afterwards: a file's sync keeps its bytes, its folder's sync keeps its name.
 */
import { closeSync, existsSync, fdatasyncSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Stands between our code and the disk in a test: `sync` does the real one. */
export type Disk = (fd: number, sync: () => void) => void;

let disk: Disk = (_fd, sync) => sync();

/** Called by tests alone: they count syncs, fail them, or lose what was not synced. Returns the disk that was there. */
export function exchangeDisk(other: Disk): Disk {
  const before = disk;
  disk = other;
  return before;
}

/** Syncs a file's bytes and everything about it, or a folder's names. */
export function syncFile(fd: number): void {
  disk(fd, () => fsyncSync(fd));
}

/** Syncs a file's bytes and length, without its times. */
export function syncData(fd: number): void {
  disk(fd, () => fdatasyncSync(fd));
}

/** A file's content, or the names in a folder, are on the disk when it returns. */
export function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    syncFile(file);
  } finally {
    closeSync(file);
  }
}

/** With those above it. Not `recursive`: where the kernel itself makes all folders, as in /proc, Node tries for ever. */
export function makeFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode);
  mkdirSync(path, { mode });
}

/**
 * Makes a folder and those above it for files that are acknowledged: its name is on the disk when it returns, also if
 * another process has just made it.
 */
export function keepFolder(path: string, mode = 0o700): void {
  const first = mkdirSync(path, { recursive: true, mode }) ?? path;
  for (let made = path; ; made = dirname(made)) {
    try {
      syncPath(dirname(made));
    } catch (error) {
      // A folder that may be passed through and not read cannot be synced.
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
    if (made === first || made === dirname(made)) return;
  }
}
