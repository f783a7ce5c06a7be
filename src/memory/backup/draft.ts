/** Makes folders to unpack into. A folder has a lock that ends with its process; any process removes a folder whose lock is free. */
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { tryFlock } from "../../base/libc.ts";
import { namesIn } from "../../base/read-folder.ts";

export type Draft = {
  folder: string;
  /** Releases the lock; the folder stays. */
  release: () => void;
};

/** Prefix of the name of a folder into which a backup is unpacked to verify it. */
export const VERIFY_DRAFT = "verify-";
const LOCK = "lock";

/** Makes and locks a folder whose name begins with `prefix`. Errors: the file system's errors. */
export function makeDraft(parent: string, prefix: string): Draft {
  for (;;) {
    const folder = join(parent, `${prefix}${randomBytes(4).toString("hex")}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const fd = lockIn(folder);
    // `undefined` means that a clean-up has just locked and removed the folder, so try another name.
    if (fd !== undefined) return { folder, release: once(() => closeSync(fd)) };
  }
}

/** Removes the folder and then releases its lock. */
export function dropDraft({ folder, release }: Draft): void {
  rmSync(folder, { recursive: true, force: true });
  release();
}

/** Removes the folders whose process has ended, so that their lock is free. */
export function removeDrafts(parent: string, prefix: string): void {
  for (const name of namesIn(parent).filter((one) => one.startsWith(prefix) && isDraft(one.slice(prefix.length)))) {
    const folder = join(parent, name);
    const fd = lockIn(folder, false);
    if (fd === undefined) continue;
    rmSync(folder, { recursive: true, force: true });
    closeSync(fd);
  }
}

export function isDraft(name: string): boolean {
  return /^[0-9a-f]{8}$/.test(name);
}

/** Locks a folder; undefined if it is missing or locked. On a file system without locks, the call succeeds if `otherwise` is true. */
function lockIn(folder: string, otherwise = true): number | undefined {
  let fd: number;
  try {
    fd = openSync(join(folder, LOCK), "a", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  let isOurs = otherwise;
  try {
    isOurs = tryFlock(fd);
  } catch {
    // Without locks, used and abandoned folders look the same, so `removeDrafts` passes false and removes none.
  }
  if (isOurs) return fd;
  closeSync(fd);
  return undefined;
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
