/**
 * Writes small files so that they are either the old or the new ones, never half of each: temporary file, fsync,
 * rename, fsync folder.
 */
import {
  closeSync,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { faultPoint } from "./fault-point.ts";
import { syncFile, syncPath } from "./folders.ts";

/** The temporary names of both. */
const TEMPORARY = /\.\d+\.tmp$/;
/** No write takes this long; a writer's process cannot be identified from another container. */
const LEFTOVER_AGE_MS = 3_600_000;

export type Owner = { uid: number; gid: number };

/**
 * `owner`: the file's owner, if it is another user; then the mode applies regardless of the umask. `beforeRename` may still
 * refuse, by throwing.
 */
export function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  owner?: Owner,
  beforeRename: () => void = () => {},
): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, "w", mode);
    try {
      faultPoint("file.before-write");
      // writeFileSync, because writeSync may write only a part on a disk that fills up, and tells so only by its
      // result.
      writeFileSync(file, content);
      if (owner !== undefined) {
        fchownSync(file, owner.uid, owner.gid);
        fchmodSync(file, mode);
      }
      faultPoint("file.before-sync");
      syncFile(file);
    } finally {
      closeSync(file);
    }
    faultPoint("file.before-rename");
    beforeRename();
    renameSync(temporary, path);
    faultPoint("file.after-rename");
  } catch (error) {
    rmSync(temporary, { force: true });
    // A failed write's error does not name the file.
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
  syncPath(dirname(path));
}

/**
 * Writes a small file that is either the old or the new one for every reader, and syncs nothing: after a power cut it may
 * be empty. For hints that no longer hold then.
 */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, content, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
}

/**
 * Overwrites the beginning of a file that exists, in place, and ends it there. A full disk has room for that, as far as the
 * file had. A reader may see half of it.
 */
export function overwriteFile(path: string, content: string): void {
  const file = openSync(path, "r+");
  try {
    ftruncateSync(file, writeSync(file, content, 0));
  } finally {
    closeSync(file);
  }
}

/** Removes temporary files of killed writers anywhere below a folder. Files that cannot be removed stay. */
export function removeLeftovers(folder: string, nowMs = Date.now()): void {
  for (const name of namesBelow(folder).filter((one) => TEMPORARY.test(one))) {
    const path = join(folder, name);
    try {
      if (nowMs - statSync(path).mtimeMs > LEFTOVER_AGE_MS) rmSync(path);
    } catch {
      // Its writer was alive after all, or it is not ours to remove.
    }
  }
}

function namesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
}
