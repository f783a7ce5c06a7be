/** Syncs files and folders so that they survive a power cut. Syncing a file saves its bytes; syncing its folder saves its name. */
import { closeSync, existsSync, fdatasyncSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Hook that replaces each sync in tests. `sync` does the real sync. */
export type Disk = (fd: number, sync: () => void) => void;

let disk: Disk = (_fd, sync) => sync();

/** Replaces the hook and returns the previous hook. Only for tests. */
export function exchangeDisk(other: Disk): Disk {
  const before = disk;
  disk = other;
  return before;
}

/** Syncs a file's bytes and metadata, or a folder's list of names. */
export function syncFile(fd: number): void {
  disk(fd, () => fsyncSync(fd));
}

/** Syncs a file's bytes and length but not its times, which is faster. */
export function syncData(fd: number): void {
  disk(fd, () => fdatasyncSync(fd));
}

export function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    syncFile(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a folder and its missing parents. Avoids Node's `recursive`, which never returns in a folder such as /proc. */
export function makeFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), mode);
  mkdirSync(path, { mode });
}

/** Makes a folder and its missing parents, and syncs their names. Syncs an existing folder's name, too: its maker may not have done so. */
export function keepFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 }) ?? path;
  for (let made = path; ; made = dirname(made)) {
    try {
      syncPath(dirname(made));
    } catch (error) {
      // A process can sync only a folder that its user may read.
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
    if (made === first || made === dirname(made)) return;
  }
}
