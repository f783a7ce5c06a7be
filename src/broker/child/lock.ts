/** A child's lifetime lock: the kernel releases the flock when the child and its descendants are gone, even if the broker was killed. */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readRecord } from "../../base/parse-json.ts";
import { tryFlock } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError, unwritable } from "../../base/errors.ts";
import { orElse } from "../../base/or-else.ts";

/** Number of the file descriptor with which the child keeps the lock file open. */
const LOCK_FD = 3;

export type ChildLock = {
  fd: number;
  /** Records the child as the lock's owner and closes the broker's own descriptor. Then only the child has the lock. */
  handOver(childPid: number): void;
  drop(): void;
};

/** Time that a child gets to exit after its broker died, which closed the child's stdin. Then the next broker ends the child. */
const LEAVE_MAX_MS = 3_000;
const TERM_MAX_MS = 2_000;
const KILL_MAX_MS = 2_000;
const POLL_MS = 25;

/**
 * Waits until the former child of `home` is gone, ends that child if necessary, and takes the lock. The caller holds the lifetime lock of
 * `home`, so no other broker can have a living child of it. Errors: PALACE_LOCKED, STORE_READ_ONLY.
 */
export async function takeChildLock(file: string, home: string, log: Log): Promise<ChildLock> {
  const startedAtMs = performance.now();
  for (let sent: NodeJS.Signals | undefined; ; await sleep(POLL_MS)) {
    const fd = openFile(file);
    if (tryFlock(fd)) return heldLock(fd, home);
    closeSync(fd);
    const waitedMs = performance.now() - startedAtMs;
    const owner = readOwner(file);
    if (owner !== undefined && owner.home !== home)
      throw new PalaceError(
        "PALACE_LOCKED",
        `another broker's engine writes ${dirname(file)} (pid ${owner.pid}, of ${owner.home})`,
        "stop that broker (palace stop); one palace has one broker",
      );
    if (waitedMs > LEAVE_MAX_MS + TERM_MAX_MS + KILL_MAX_MS)
      throw new PalaceError(
        "PALACE_LOCKED",
        `a former engine process (pid ${owner?.pid ?? "unknown"}) still holds ${file}`,
        "end it, then repeat the call",
      );
    const due = waitedMs > LEAVE_MAX_MS + TERM_MAX_MS ? "SIGKILL" : waitedMs > LEAVE_MAX_MS ? "SIGTERM" : undefined;
    if (due === undefined || due === sent || owner === undefined) continue;
    sent = due;
    for (const pid of holders(file)) {
      log.warn("a former engine process is ended", { pid, signal: due });
      signal(pid, due);
    }
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended, or belongs to another user. Callers check whether it has ended.
  }
}

function openFile(file: string): number {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return openSync(file, "a+", 0o600);
  } catch (cause) {
    throw unwritable(
      `${dirname(file)} cannot be written by this user`,
      "make it writable, or name another palace in MEMPALACE_ENGINE",
      cause,
    );
  }
}

function heldLock(fd: number, home: string): ChildLock {
  writeOwner(fd, { pid: 0, home });
  return {
    fd,
    handOver: (pid) => {
      writeOwner(fd, { pid, home });
      closeSync(fd);
    },
    drop: () => closeSync(fd),
  };
}

function writeOwner(fd: number, owner: { pid: number; home: string }): void {
  try {
    ftruncateSync(fd, 0);
    writeSync(fd, JSON.stringify(owner));
  } catch {
    // The disk is full, for example. The lock works without the record.
  }
}

/** Returns the recorded owner of the lock; undefined before the first record. */
function readOwner(file: string): { pid: number; home: string } | undefined {
  const { pid, home } = readRecord(file);
  return typeof pid === "number" && typeof home === "string" ? { pid, home } : undefined;
}

/** Returns the processes that have the lock file open as LOCK_FD. A recorded pid is not enough, because pids are reused. */
function holders(file: string): number[] {
  const path = realpathSync(file);
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.map(Number).filter((pid) => {
    return orElse(() => readlinkSync(`/proc/${pid}/fd/${LOCK_FD}`) === path, false);
  });
}
