/**
 * Spools writes until a broker takes them. Each write is a small file that only its user can read; it is synced before the agent gets its
 * answer. A file is removed only after the broker has acknowledged it. So a write may be sent twice, even by two processes; because of its
 * idempotency key it takes effect once.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { newKey } from "../../base/ids.ts";
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { keepFolder, syncPath } from "../../base/folders.ts";
import { writeFailure } from "../../base/state-files.ts";
import { PalaceError } from "../../base/errors.ts";
import { IDEMPOTENCY_META } from "../../protocol/headers.ts";
import type { SpoolReport } from "../../protocol/status.ts";
import { FRAME_SIZE_MAX_BYTES, SPOOL_AGE_MAX_MS } from "../../protocol/limits.ts";
import { orElse } from "../../base/or-else.ts";

/** A write on disk. `line`: the agent's tools/call or `turn.end`, with its key. `tool`: its name. */
export type SpooledWrite = { atMs: number; agent: string; tool: string; key: string; line: string };
/** A spooled write with the name of its file. */
export type SpoolEntry = SpooledWrite & { name: string };
/** A write that a broker refused permanently. `why`: the broker's reason, for people. `atMs`: 0 for an unreadable file. */
export type RefusedEntry = { name: string; atMs: number; tool: string; why: string };
/**
 * A write in its file. `againAtMs`: time at which a person sent the write again; its age counts from then. `isUndone`: a tool refused the
 * whole write, so no part of it was done.
 */
type StoredWrite = SpooledWrite & { againAtMs?: number; isUndone?: true };

/**
 * Maximum number of writes, and of their bytes, in the spool of one palace on one machine. The spool is for the few writes of agents, not
 * for a feeder's thousands.
 */
const ENTRIES_MAX = 10_000;
const SIZE_MAX_BYTES = 64 * 1024 * 1024;
if (FRAME_SIZE_MAX_BYTES > SIZE_MAX_BYTES) throw new Error("the spool must hold at least one frame");

const SUFFIX = ".json";
/** Ending of a file with the end of a turn. Older clients do not know such entries; because of this ending they ignore them. */
const TURN_SUFFIX = ".turn";
/** Maximum share of the spool for ends of turns; the rest is for the agents' writes. */
const TURNS_SHARE = 0.5;
const REFUSED = "refused";
/** Maximum size of the refused writes that are kept. A whole spool may be refused, and each refusal adds its reason. */
const REFUSED_SIZE_MAX_BYTES = 2 * SIZE_MAX_BYTES;
/** File in the folder of the refused writes; its time is the time when older refused writes were dropped. */
const DROPPED = "older-ones-dropped.txt";
const PUT_ATTEMPTS = 5;
/** Age after which a half-written file is a leftover; writing takes far less. */
const HALF_MAX_MS = 60_000;
/** Prefix that orders the writes of one process; writes of two processes have no order. */
const client = `${Date.now().toString(36)}-${process.pid.toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}`;
let count = 0;

/** Spool of one palace on one machine. Any number of processes may use the folder. */
export class Spool {
  readonly folder: string;
  /** Number of temporary refusals of each write, as far as this process has seen. */
  readonly refusals = new Map<string, number>();
  /** Writes that a broker refused for now while it took others, as far as this process has seen. */
  readonly unsendable = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Returns the write's name once the write is on disk. Errors, with nothing spooled: TRANSPORT_SPOOL_FULL, STORE_DISK_FULL,
   * STORE_READ_ONLY.
   */
  append(write: SpooledWrite): string {
    const names = this.#names();
    const text = `${JSON.stringify({ schema: 1, ...write })}\n`;
    const sizeBytes = names.reduce((sum, name) => sum + sizeOf(join(this.folder, name)), Buffer.byteLength(text));
    const isTurn = write.tool === "turn.end";
    const share = isTurn ? TURNS_SHARE : 1;
    if (names.length >= ENTRIES_MAX * share || sizeBytes > SIZE_MAX_BYTES * share)
      throw new PalaceError(
        "TRANSPORT_SPOOL_FULL",
        "no broker can be reached, and the spool of waiting writes is full",
        "palace doctor",
      );
    const name = `${client}.${String(++count).padStart(8, "0")}${isTurn ? TURN_SUFFIX : SUFFIX}`;
    try {
      this.#put(name, text);
      return name;
    } catch (cause) {
      throw writeFailure(this.folder, cause);
    }
  }

  /** Writes a file of the spool. It retries, because another process may remove the empty folder first. */
  #put(name: string, text: string): void {
    for (let attempt = 1; ; attempt++) {
      try {
        keepFolder(this.folder);
        return writeFileAtomic(join(this.folder, name), text);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === PUT_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Lists the spooled writes; the writes of one process are in order. Sets aside files that are not spooled writes, and drops the oldest
   * refused writes beyond the limits.
   */
  entries(): SpoolEntry[] {
    this.#sweep(this.folder);
    this.#dropRefused();
    return this.#names().flatMap((name) => {
      const entry = readEntry(join(this.folder, name));
      if (entry === "gone") return [];
      if (entry === undefined) this.refuse(name, "it is not a spooled write");
      else if (Date.now() - (entry.againAtMs ?? entry.atMs) > SPOOL_AGE_MAX_MS)
        this.refuse(name, "it is too old: the broker could not recognise a repeated write");
      else return [{ ...entry, name }];
      return [];
    });
  }

  get isEmpty(): boolean {
    return this.#names().length === 0;
  }

  /** Removes an acknowledged write. Errors: STORE_* if the file cannot be removed. The write is then sent again and still done once. */
  remove(name: string): void {
    try {
      rmSync(join(this.folder, name), { force: true });
    } catch (cause) {
      throw writeFailure(this.folder, cause);
    }
    for (const folder of [this.folder, dirname(this.folder)]) {
      try {
        rmdirSync(folder);
      } catch {
        return;
      }
    }
  }

  /**
   * Sets aside a write that the broker will never take, with its reason for the user. `isUndone`: a tool refused the whole write. Returns
   * false if that fails for now.
   */
  refuse(name: string, why: string, isUndone = false): boolean {
    const aside = join(this.folder, REFUSED);
    try {
      keepFolder(aside);
      writeFileAtomic(join(aside, `${name}.why`), `${why}\n`);
      // Without this note, a write that is sent again gets the stored refusal again.
      if (isUndone) noteUndone(join(this.folder, name));
      renameSync(join(this.folder, name), join(aside, name));
      syncPath(aside);
      return true;
    } catch {
      // Another process may already have set it aside.
      return !existsSync(join(this.folder, name));
    }
  }

  refused(limit = Number.MAX_SAFE_INTEGER): RefusedEntry[] {
    const aside = join(this.folder, REFUSED);
    const names = list(aside, SUFFIX, TURN_SUFFIX).slice(0, limit);
    return names.map((name) => {
      const entry = readEntry(join(aside, name));
      const { atMs, tool } = typeof entry === "object" ? entry : { atMs: 0, tool: "unknown" };
      return { name, atMs, tool, why: readText(join(aside, `${name}.why`)).trim() };
    });
  }

  /** Returns the waiting and the refused writes, at most `limit` of each. Reads no other files. */
  report(limit = Number.MAX_SAFE_INTEGER): SpoolReport {
    const [waiting, refused] = [this.#names(), list(join(this.folder, REFUSED), SUFFIX, TURN_SUFFIX)];
    return {
      folder: this.folder,
      waiting: waiting.slice(0, limit).flatMap((name) => {
        const entry = readEntry(join(this.folder, name));
        return typeof entry === "object" ? [{ name, atMs: entry.atMs, agent: entry.agent, tool: entry.tool }] : [];
      }),
      refused: this.refused(limit),
      droppedAtMs: this.droppedAtMs ?? null,
      totals: { waiting: waiting.length, refused: refused.length },
    };
  }

  /**
   * Returns the refused write of that name, as it is to be sent again; undefined for any other file. A write that a tool refused gets a new
   * key, because the broker answers the old key with the same refusal. Any other write may have been done and keeps its key.
   */
  readRefused(name: string): SpooledWrite | undefined {
    const entry = readEntry(join(this.folder, REFUSED, name));
    if (entry === "gone" || entry === undefined) return undefined;
    const { isUndone, ...write } = entry;
    return isUndone === true ? withNewKey(write) : write;
  }

  /**
   * Moves a refused write back to the waiting writes, with `write` as its new content. A kill at any step leaves the write in one of the
   * two places. Errors: STORE_* if the files cannot be written.
   */
  sendAgain(name: string, write: SpooledWrite): void {
    const aside = join(this.folder, REFUSED);
    try {
      writeFileAtomic(join(aside, name), `${JSON.stringify({ schema: 1, ...write, againAtMs: Date.now() })}\n`);
      // A reason without its write would stay for ever, so the reason is removed first.
      rmSync(join(aside, `${name}.why`), { force: true });
      faultPoint("spool.before-again");
      renameSync(join(aside, name), join(this.folder, name));
      syncPath(this.folder);
    } catch (cause) {
      throw writeFailure(aside, cause);
    }
  }

  /** Time when refused writes were last dropped to make room, ms since 1970; undefined if none were. */
  get droppedAtMs(): number | undefined {
    return statSync(join(this.folder, REFUSED, DROPPED), { throwIfNoEntry: false })?.mtimeMs;
  }

  /** Keeps only the newest refused writes. A file that cannot be removed stays until the next time: it must not make a write fail. */
  #dropRefused(): void {
    const aside = join(this.folder, REFUSED);
    try {
      this.#sweep(aside);
      let sizeBytes = 0;
      const tooMany = list(aside, SUFFIX, TURN_SUFFIX)
        .map((name) => ({ file: join(aside, name), why: join(aside, `${name}.why`) }))
        .map((one) => ({ ...one, atMs: statSync(one.why, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
        .toSorted((one, other) => other.atMs - one.atMs || (one.file < other.file ? 1 : -1))
        .filter(({ file, why }, at) => {
          sizeBytes += sizeOf(file) + sizeOf(why);
          return at >= ENTRIES_MAX || sizeBytes > REFUSED_SIZE_MAX_BYTES;
        });
      if (tooMany.length === 0) return;
      // The note is written first, and a reason is removed before its write. So a kill in between loses no note and leaves no reason
      // without its write.
      writeFileAtomic(join(aside, DROPPED), "Writes that were refused before these were dropped to make room.\n");
      for (const { file, why } of tooMany) for (const one of [why, file]) rmSync(one, { force: true });
    } catch {
      return;
    }
  }

  /** Removes half-written files of killed processes. No caller got an acknowledgement of these writes. */
  #sweep(folder: string): void {
    for (const name of list(folder, ".tmp")) {
      const file = join(folder, name);
      const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Math.abs(Date.now() - since) > HALF_MAX_MS) rmSync(file, { force: true });
    }
  }

  #names(): string[] {
    return list(this.folder, SUFFIX, TURN_SUFFIX);
  }
}

/** Returns the write with a new idempotency key. The broker then does not take it for a repeated write. */
export function withNewKey(write: SpooledWrite): SpooledWrite {
  const { params, ...message } = parseRecord(write.line);
  const { _meta: meta, ...others } = isRecord(params) ? params : {};
  const key = newKey();
  const note = { ...(isRecord(meta) && meta), [IDEMPOTENCY_META]: key };
  return { ...write, key, line: JSON.stringify({ ...message, params: { ...others, _meta: note } }) };
}

function noteUndone(file: string): void {
  const entry = readEntry(file);
  if (typeof entry === "object") writeFileAtomic(file, `${JSON.stringify({ schema: 1, ...entry, isUndone: true })}\n`);
}

/** Lists the files with the given endings; a missing folder counts as empty. Errors: STORE_* if the folder cannot be read. */
function list(folder: string, ...suffixes: string[]): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => suffixes.some((suffix) => name.endsWith(suffix)))
      .toSorted();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw writeFailure(folder, cause);
  }
}

/** Reads a write: "gone" if another process has delivered it, undefined for any other file. */
function readEntry(file: string): StoredWrite | "gone" | undefined {
  const text = readText(file);
  if (text === "" && !existsSync(file)) return "gone";
  const { schema, atMs, agent, tool, key, line, againAtMs, isUndone } = parseRecord(text);
  if (schema !== 1 || typeof atMs !== "number" || typeof agent !== "string") return undefined;
  if (typeof tool !== "string" || typeof key !== "string" || typeof line !== "string") return undefined;
  return {
    ...{ atMs, agent, tool, key, line },
    ...(typeof againAtMs === "number" && { againAtMs }),
    ...(isUndone === true && { isUndone }),
  };
}

function readText(file: string): string {
  return orElse(() => readFileSync(file, "utf8"), "");
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
