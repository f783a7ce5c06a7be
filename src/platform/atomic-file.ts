/**
 * Small files that are either the old or the new ones, never half of each: temporary file, fsync, rename, fsync folder.
 */
import { closeSync, fchmodSync, fchownSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export type Owner = { uid: number; gid: number };

/** `owner`: whose file it is to be, where that is not simply ours; then the mode counts whatever the umask says. */
export function writeFileAtomic(path: string, content: string, mode = 0o600, owner?: Owner): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, "w", mode);
    try {
      // Not writeSync: that may write a part on a disk that fills up, and says so only by its result.
      writeFileSync(file, content);
      if (owner !== undefined) {
        fchownSync(file, owner.uid, owner.gid);
        fchmodSync(file, mode);
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
