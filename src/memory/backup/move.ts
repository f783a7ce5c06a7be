/** Moves a file or folder, also to another disk. Removes the source only after the whole copy is synced. */
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncPath } from "../../base/folders.ts";

/** `rename`: only tests pass another function. Errors: the file system's errors, after which `from` or `to` is complete. */
export function move(from: string, to: string, rename: (from: string, to: string) => void = renameSync): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    rename(from, to);
  } catch (error) {
    // EXDEV: the target is on another disk, or the source is a folder in a container image's layer.
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

/** Does nothing for a missing path. */
export function sync(path: string): void {
  if (existsSync(path)) syncPath(path);
}

function syncAll(path: string): void {
  const there = lstatSync(path);
  if (there.isDirectory()) for (const name of readdirSync(path)) syncAll(join(path, name));
  if (there.isDirectory() || there.isFile()) sync(path);
}
