/**
 * The lifetime lock: one broker for each palace. It is a flock on the palace's own lock file; the kernel releases it
 * when the process dies, so a leftover file means nothing.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { keepFolder } from "../../base/folders.ts";
import { isDiskFull } from "../../base/state-files.ts";
import { tryFlock } from "../../base/libc.ts";
import { PalaceError } from "../../base/errors.ts";

export type LifetimeLock = {
  /** False once the file was removed or replaced: another broker could then lock the new one. */
  isHeld(): boolean;
  release(): void;
};

const ON_DEMAND = ", started on demand";

/** True for a holder that makes way for a broker that is meant to stay. */
export function makesWay(heldBy: string): boolean {
  return heldBy.endsWith(ON_DEMAND);
}

/** Reads what the lock's last holder wrote; the caller must find out whether it still holds the lock. */
export function isHeldOnDemand(file: string): boolean {
  try {
    return makesWay(readFileSync(file, "utf8").trim());
  } catch {
    return false;
  }
}

/** The lock, or its holder as it describes itself, for a message. Errors: STORE_READ_ONLY. */
export function takeLock(file: string, isOnDemand: boolean): LifetimeLock | { heldBy: string } {
  let fd: number;
  try {
    // Acknowledged writes are in this folder.
    keepFolder(dirname(file));
    // Creates the file if absent, and never truncates it before the lock is ours.
    fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  } catch (error) {
    throw new PalaceError(
      "STORE_READ_ONLY",
      `${dirname(file)} cannot be written by this user`,
      "make it writable, or name another palace with --palace DIR",
      { cause: error },
    );
  }
  if (!lockable(fd, file)) {
    const holder = readFileSync(file, "utf8").trim();
    closeSync(fd);
    return { heldBy: holder === "" ? "another broker" : holder };
  }
  const inode = fstatSync(fd).ino;
  describeHolder(fd, `broker ${process.pid}${isOnDemand ? ON_DEMAND : ""}\n`);
  return {
    isHeld: () => {
      try {
        return statSync(file, { throwIfNoEntry: false })?.ino === inode;
      } catch {
        // A failing mount does not lose the lock: the kernel still holds it.
        return true;
      }
    },
    release: () => closeSync(fd),
  };
}

/** Writes in place, which needs no space on a full disk. Without a text the lock is held all the same. */
function describeHolder(fd: number, text: string): void {
  try {
    ftruncateSync(fd, writeSync(fd, text, 0));
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}

/** Errors: STORE_READ_ONLY where nothing can be locked: a palace without its lock could have two brokers. */
function lockable(fd: number, file: string): boolean {
  try {
    return tryFlock(fd);
  } catch (cause) {
    closeSync(fd);
    throw new PalaceError(
      "STORE_READ_ONLY",
      `${file} cannot be locked: its file system has no locks`,
      "keep the palace on a local disk: --palace DIR, or MEMPALACE_PATH",
      { cause },
    );
  }
}
