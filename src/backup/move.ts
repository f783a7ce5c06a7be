/** A name given to a file or folder, on the same disk or another; the source is gone only when the whole of it is there and synced. */
import {
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** `rename` is the system's. Errors: the file system's; `from` is as it was then. */
export function move(from: string, to: string, rename: (from: string, to: string) => void = renameSync): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    rename(from, to);
  } catch (error) {
    // A folder below the home may be on another disk, and a folder of an image's layer cannot be renamed in a container.
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    const part = `${to}.part`;
    rmSync(part, { recursive: true, force: true });
    cpSync(from, part, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    syncAll(part);
    renameSync(part, to);
    sync(dirname(to));
    rmSync(from, { recursive: true, force: true });
  }
}

/** What a folder says of its names. One that is not there says nothing. */
export function sync(path: string): void {
  if (!existsSync(path)) return;
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function syncAll(path: string): void {
  const there = lstatSync(path);
  if (there.isDirectory()) for (const name of readdirSync(path)) syncAll(join(path, name));
  if (there.isDirectory() || there.isFile()) sync(path);
}
