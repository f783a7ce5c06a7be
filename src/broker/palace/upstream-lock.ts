/**
 * Holds MemPalace's own palace lock while the broker lives. A Python MemPalace of the same HOME then refuses to write and prints who holds
 * the lock. The lock cannot stop a process that sees another HOME or another path of the palace; mempalace/reconcile finds those writers.
 *
 * Source: palace.md 10.1, and `mine_palace_lock` of 3.3.6 and 3.11.0: flock without waiting on ~/.mempalace/locks/mine_palace_<16 hex of
 * SHA-256 of the real path>.lock. Byte 0 is never changed; from byte 1 on the file contains `<pid> <words>`, which a refused process
 * quotes. Upstream never removes the file.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { tryFlock } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError } from "../../base/errors.ts";
import type { UpstreamLockStatus } from "../../protocol/spec.ts";
import { orElse } from "../../base/or-else.ts";

export type UpstreamLockOptions = {
  palaceDir: string;
  locksDir: string;
  log: Log;
  /** Called after each change of the status. Must not throw. */
  onChange: () => void;
};

export type UpstreamLock = {
  status(): UpstreamLockStatus;
  /** Returns PALACE_LOCKED while a running MemPalace has the lock. Until it ends, the broker must not write the public palace. */
  lockedBy(): PalaceError | undefined;
  /** Previous holder in upstream's words; "" if unknown. */
  formerHolder(): string;
  release(): void;
};

/** Time between two tries to get a lock that another process has, and between two checks of our own lock. */
const LOOK_MS = 500;
const LINKS_MAX = 40;
/** Error codes when the lock's folder cannot be made, for example in a container with a read-only root. */
const UNMADE = new Set(["ENOENT", "ENOTDIR", "EROFS", "EACCES", "EPERM"]);
const OTHER_HOME = "the public palace is held by a palace-devbox broker of another home";
/** Words that a refused MemPalace prints: `palace DIR is held by PID n (…); wait for it to finish or stop the holder …`. */
const IDENTITY = "palace-devbox broker: write through its tools, or end it with `palace stop`";

/** Takes the lock as soon as it is free. Never throws; the status says why the lock is not held. */
export function keepUpstreamLock(options: UpstreamLockOptions): UpstreamLock {
  const lock = new Keeper(options);
  lock.look();
  const timer = setInterval(() => lock.look(), LOOK_MS).unref();
  return {
    status: () => lock.status,
    lockedBy: () => lock.lockedBy(),
    formerHolder: () => lock.formerHolder,
    release: () => {
      clearInterval(timer);
      lock.release();
    },
  };
}

class Keeper {
  readonly #options: UpstreamLockOptions;
  #held: { fd: number; file: string } | undefined;
  #folder: { fd: number } | undefined;
  status: UpstreamLockStatus = { state: "none", detail: "" };
  formerHolder = "";

  constructor(options: UpstreamLockOptions) {
    this.#options = options;
  }

  look(): void {
    try {
      if (!this.#keepFolder()) return this.#enter("waiting", OTHER_HOME);
      const file = this.#file();
      if (file === undefined) return this.#enter("none", "there is no palace that MemPalace could open");
      if (this.#held !== undefined && this.#held.file === file && isFileOf(this.#held.fd, file)) return;
      this.#take(file);
    } catch (error) {
      if (this.#held === undefined) this.#enter("none", this.#whyNone(error as NodeJS.ErrnoException));
    }
  }

  /** Returns why the lock was not taken. MemPalace never writes without the lock, so without the lock's folder it cannot write either. */
  #whyNone({ code = "", message }: NodeJS.ErrnoException): string {
    const { locksDir } = this.#options;
    if (UNMADE.has(code)) return `no MemPalace can write from here, because ${locksDir} cannot be made`;
    return `no lock can be made here: ${message}`;
  }

  lockedBy(): PalaceError | undefined {
    // Callers ask before each write. The palace's folder may be new, because the first write creates it.
    if (this.#folder === undefined && existsSync(this.#options.palaceDir)) this.look();
    return this.#refusal();
  }

  #refusal(): PalaceError | undefined {
    const { state, detail } = this.status;
    if (state !== "waiting") return undefined;
    return new PalaceError("PALACE_LOCKED", detail, "end that process; the broker then continues by itself");
  }

  release(): void {
    this.#releaseFile();
    if (this.#folder !== undefined) closeSync(this.#folder.fd);
    this.#folder = undefined;
  }

  #releaseFile(): void {
    if (this.#held !== undefined) closeSync(this.#held.fd);
    this.#held = undefined;
  }

  /** Locks the palace's folder against brokers of other homes, which may have the same palace, but use another MemPalace lock. */
  #keepFolder(): boolean {
    const { palaceDir } = this.#options;
    if (this.#folder !== undefined && isFileOf(this.#folder.fd, palaceDir)) return true;
    if (this.#folder !== undefined) closeSync(this.#folder.fd);
    this.#folder = undefined;
    if (!existsSync(palaceDir)) return true;
    const fd = openSync(palaceDir, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      if (tryFlock(fd)) this.#folder = { fd };
    } catch {
      // This file system has no flock, so no other broker can be kept out.
      closeSync(fd);
      return true;
    }
    if (this.#folder === undefined) closeSync(fd);
    return this.#folder !== undefined;
  }

  /**
   * Returns the lock file. Returns undefined if MemPalace never used this HOME and the palace has no Chroma file: the broker then does
   * not make MemPalace's folder. With a Chroma file the broker makes the folder, as MemPalace's first write would.
   */
  #file(): string | undefined {
    const { palaceDir, locksDir } = this.#options;
    if (!existsSync(dirname(locksDir)) && !existsSync(join(palaceDir, "chroma.sqlite3"))) return undefined;
    const key = createHash("sha256").update(realPath(palaceDir)).digest("hex").slice(0, 16);
    return join(locksDir, `mine_palace_${key}.lock`);
  }

  #take(file: string): void {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      const before = readFileSync(file).subarray(1).toString().trim();
      if (!tryFlock(fd)) {
        closeSync(fd);
        this.#releaseFile();
        return this.#enter("waiting", `the public palace is held by ${describe(before)}`);
      }
      if (!isFileOf(fd, file)) return closeSync(fd);
      if (!before.includes(IDENTITY)) this.formerHolder = before === "" ? "" : describe(before);
      const identity = Buffer.from(`${process.pid} ${IDENTITY}`);
      ftruncateSync(fd, 1 + identity.length);
      writeSync(fd, identity, 0, identity.length, 1);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    this.#releaseFile();
    this.#held = { fd, file };
    this.#enter("held", file);
  }

  #enter(state: UpstreamLockStatus["state"], detail: string): void {
    if (state === this.status.state && detail === this.status.detail) return;
    this.status = { state, detail };
    const error = this.#refusal();
    if (error === undefined) this.#options.log.info("MemPalace's lock", { state, detail });
    else this.#options.log.warn("MemPalace's lock", { state, detail, code: error.code });
    this.#options.onChange();
  }
}

/** Describes a holder in the words of upstream's refusals. */
function describe(identity: string): string {
  const match = /^(\d+)(?:\s+(.*))?$/s.exec(identity);
  if (match === null) return "another writer (identity not recorded)";
  const words = match[2]?.trim() ?? "";
  return words === "" ? `PID ${match[1]}` : `PID ${match[1]} (${words})`;
}

/** Returns false once the file was removed or replaced: a lock on the old file keeps nobody out. */
function isFileOf(fd: number, file: string): boolean {
  const there = statSync(file, { throwIfNoEntry: false });
  const ours = fstatSync(fd);
  return there?.ino === ours.ino && there.dev === ours.dev;
}

/** Resolves as Python's os.path.realpath does: it follows links even if their target does not exist yet. */
function realPath(path: string, links = 0): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || links > LINKS_MAX) return path;
    const here = join(realPath(parent, links), basename(path));
    return orElse(() => realPath(resolve(dirname(here), readlinkSync(here)), links + 1), here);
  }
}
