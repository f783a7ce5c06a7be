/**
 * The lock that a child holds as long as it lives: an flock on a file that is open in the child and nowhere else. The
 * kernel releases it when the child and all its descendants are gone, however they ended, so two children of one palace
 * never live at once, even if the broker between them was killed.
 */
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
import { PalaceError } from "../../base/errors.ts";

/** The child's descriptor of the lock file. */
const LOCK_FD = 3;

export type ChildLock = {
  /** Pass it to the child as its descriptor LOCK_FD. */
  fd: number;
  /** Records whose child it is, then closes the broker's copy: from now on the child alone holds the lock. */
  handOver(childPid: number): void;
  drop(): void;
};

/** A child whose broker died sees its stdin end; one that does not exit within this time is killed. */
const LEAVE_MAX_MS = 3_000;
const TERM_MAX_MS = 2_000;
const KILL_MAX_MS = 2_000;
const POLL_MS = 25;

/**
 * Waits until a former child of this broker's home is gone, and ends it if necessary. `home`: its lifetime lock is
 * held, so no other broker can have a living child of it. Errors: PALACE_LOCKED, STORE_READ_ONLY.
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
        "palace stop, for that broker; one palace has one broker",
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

/** A process that is gone already needs no signal. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process is gone or not ours: the lock decides.
  }
}

function openFile(file: string): number {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return openSync(file, "a+", 0o600);
  } catch (cause) {
    throw new PalaceError(
      "STORE_READ_ONLY",
      `${dirname(file)} cannot be written by this user`,
      "make it writable, or name another palace in MEMPALACE_ENGINE",
      { cause },
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

/** On a full disk the lock still holds; only its owner is not recorded then. */
function writeOwner(fd: number, owner: { pid: number; home: string }): void {
  try {
    ftruncateSync(fd, 0);
    writeSync(fd, JSON.stringify(owner));
  } catch {
    // The comment above tells why.
  }
}

/** The last owner of the lock; undefined in the moment before it is written. */
function readOwner(file: string): { pid: number; home: string } | undefined {
  const { pid, home } = readRecord(file);
  return typeof pid === "number" && typeof home === "string" ? { pid, home } : undefined;
}

/**
 * The processes that have the lock file open at the child's descriptor. A recorded pid would not do: pids are reused.
 */
function holders(file: string): number[] {
  const path = realpathSync(file);
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.map(Number).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${LOCK_FD}`) === path;
    } catch {
      return false;
    }
  });
}
