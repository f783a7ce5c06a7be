/** Lifetime lock: a flock, which the kernel releases when the process dies. So each palace has one broker, even after a kill. */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { keepFolder } from "../../base/folders.ts";
import { isDiskFull } from "../../base/state-files.ts";
import { tryFlock } from "../../base/libc.ts";
import { unwritable } from "../../base/errors.ts";
import { orElse } from "../../base/or-else.ts";

export type LifetimeLock = {
  /** Returns false once the file was removed or replaced: another broker could then lock the new file. */
  isHeld(): boolean;
  release(): void;
};

const ON_DEMAND = ", started on demand";

/** Returns true if the lock's holder ends when a permanent broker asks for the palace. */
export function makesWay(heldBy: string): boolean {
  return heldBy.endsWith(ON_DEMAND);
}

/** Returns true if the lock's last holder was a broker on demand. The caller must find out whether that holder still has the lock. */
export function isHeldOnDemand(file: string): boolean {
  return orElse(() => makesWay(readFileSync(file, "utf8").trim()), false);
}

/** Takes the lock. If another broker has the lock, returns the text in the lock file, which names that broker. Errors: STORE_READ_ONLY. */
export function takeLock(file: string, isOnDemand: boolean): LifetimeLock | { heldBy: string } {
  let fd: number;
  try {
    // Makes the folder durable (syncs its entry), because acknowledged writes will be in it.
    keepFolder(dirname(file));
    // Creates the file if absent. Does not truncate it, because we do not have the lock yet.
    fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  } catch (error) {
    throw unwritable(
      `${dirname(file)} cannot be written by this user`,
      "make it writable, or name another palace with --palace DIR",
      error,
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
        // A failing mount hides the file, but the kernel still holds the lock.
        return true;
      }
    },
    release: () => closeSync(fd),
  };
}

/** Writes into the lock file who holds the lock. Overwrites the old text in place, which works on a full disk. */
function describeHolder(fd: number, text: string): void {
  try {
    ftruncateSync(fd, writeSync(fd, text, 0));
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}

/** Tries the lock. Errors: STORE_READ_ONLY if the file system has no locks, because a palace without a lock could have two brokers. */
function lockable(fd: number, file: string): boolean {
  try {
    return tryFlock(fd);
  } catch (cause) {
    closeSync(fd);
    throw unwritable(
      `${file} cannot be locked: its file system has no locks`,
      "keep the palace on a local disk: --palace DIR, or MEMPALACE_PATH",
      cause,
    );
  }
}
