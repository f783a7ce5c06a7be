/**
 * A folder for what is unpacked, with a lock in it that dies with its process. Whoever finds one that nobody holds takes it away; a
 * number of a process would say nothing to another container that shares the folder.
 */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { tryFlock } from "../platform/libc.ts";

export type Draft = {
  folder: string;
  /** The folder stays. */
  release: () => void;
};

const LOCK = "lock";

/** `prefix` says what it is for. Errors: the file system's. */
export function makeDraft(parent: string, prefix: string): Draft {
  for (;;) {
    const folder = join(parent, `${prefix}${randomBytes(4).toString("hex")}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const fd = lockIn(folder);
    // Somebody who cleans up was there between the two lines: another name.
    if (fd !== undefined) return { folder, release: once(() => closeSync(fd)) };
  }
}

/** Those that nobody holds. */
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

/** Undefined: another has it. `otherwise`: the answer of a file system that has no locks. */
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
    // Nobody can be told apart there: what is made is used, and nothing is taken away.
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
