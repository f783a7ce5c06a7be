/** Folders that survive a power cut, and are made without waiting for ever. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** A file's content, or the names in a folder, are on the disk when it returns. */
export function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
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
