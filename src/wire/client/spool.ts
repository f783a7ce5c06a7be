/**
 * Spools writes until a broker acknowledges them. Each write is a private file, which is synced before the agent gets its answer. Several
 * processes may send the same write, which takes effect once because of its idempotency key.
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

/** Spooled write. `line`: the agent's `tools/call` or `turn.end`, with idempotency key. `tool`: the tool's full name, or `turn.end`. */
export type SpooledWrite = { atMs: number; agent: string; tool: string; key: string; line: string };
/** Spooled write with the name of its file. */
export type SpoolEntry = SpooledWrite & { name: string };
/** Write that a broker refused permanently. `why`: the reason, for people. `atMs`: 0 for an unreadable file. */
export type RefusedEntry = { name: string; atMs: number; tool: string; why: string };
/**
 * Content of a write's file. `againAtMs`: time when the user sent a refused write again; the write's age counts from this time. `isUndone`:
 * a tool refused the whole write, so no part of the write took effect.
 */
type StoredWrite = SpooledWrite & { againAtMs?: number; isUndone?: true };

/** Limits of a palace's spool on one machine. The spool is for the few writes of agents, not for the thousands of a feeder. */
const ENTRIES_MAX = 10_000;
const SIZE_MAX_BYTES = 64 * 1024 * 1024;
if (FRAME_SIZE_MAX_BYTES > SIZE_MAX_BYTES) throw new Error("the spool must hold at least one frame");

const SUFFIX = ".json";
/** Ending of a file with the end of a turn. Older clients, which do not know turns, ignore files with this ending. */
const TURN_SUFFIX = ".turn";
/** Maximum share of the spool that ends of turns may use. The rest is reserved for tool calls. */
const TURNS_SHARE = 0.5;
const REFUSED = "refused";
/** Maximum size of the refused writes and their reasons. Above this size, the oldest refused writes are dropped. */
const REFUSED_SIZE_MAX_BYTES = 2 * SIZE_MAX_BYTES;
/** Name of a file whose modification time is the time when refused writes were last dropped. */
const DROPPED = "older-ones-dropped.txt";
const PUT_ATTEMPTS = 5;
/** Age after which a half-written file is deleted as the leftover of a killed process. Writing takes far less time. */
const HALF_MAX_MS = 60_000;
/** Prefix of this process's files. Together with `count` it orders the writes of one process. Writes of two processes have no order. */
const client = `${Date.now().toString(36)}-${process.pid.toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}`;
let count = 0;

/** Spool of one palace on one machine. Several processes may use it at the same time. */
export class Spool {
  readonly folder: string;
  /** How often brokers have refused each write for now, by the name of its file. Counts only this process's attempts. */
  readonly refusals = new Map<string, number>();
  /** Names of writes that a broker refused for now while it accepted others. */
  readonly unsendable = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Writes a file, syncs it and returns its name. Errors: TRANSPORT_SPOOL_FULL, STORE_DISK_FULL, STORE_READ_ONLY. */
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

  /** Makes the folder and writes the file. Tries again if another process has removed the empty folder in between. */
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

  /** Returns the spooled writes. Refuses too old writes and files that are not writes, and drops refused writes above the limits. */
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

  /** Removes an acknowledged write, and the folder if it is empty. Errors: STORE_* if the file cannot be removed. */
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

  /** Moves a permanently refused write to the refused ones, with its reason. Returns false if that fails for now. */
  refuse(name: string, why: string, isUndone = false): boolean {
    const aside = join(this.folder, REFUSED);
    try {
      keepFolder(aside);
      writeFileAtomic(join(aside, `${name}.why`), `${why}\n`);
      // Notes in the file that the tool refused the write, so that `readRefused` gives the write a new key.
      if (isUndone) noteUndone(join(this.folder, name));
      renameSync(join(this.folder, name), join(aside, name));
      syncPath(aside);
      return true;
    } catch {
      // Another process may have moved the write already.
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

  /** Returns the waiting and the refused writes, at most `limit` of each. */
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

  /** Returns a refused write for `sendAgain`, with a new key if a tool refused it: for the old key the broker repeats the refusal. */
  readRefused(name: string): SpooledWrite | undefined {
    const entry = readEntry(join(this.folder, REFUSED, name));
    if (entry === "gone" || entry === undefined) return undefined;
    const { isUndone, ...write } = entry;
    return isUndone === true ? withNewKey(write) : write;
  }

  /** Replaces a refused write by `write` and moves it to the waiting writes. A kill at any step loses no write. Errors: STORE_*. */
  sendAgain(name: string, write: SpooledWrite): void {
    const aside = join(this.folder, REFUSED);
    try {
      writeFileAtomic(join(aside, name), `${JSON.stringify({ schema: 1, ...write, againAtMs: Date.now() })}\n`);
      // Removes the reason first, because nothing would ever remove a reason without its write.
      rmSync(join(aside, `${name}.why`), { force: true });
      faultPoint("spool.before-again");
      renameSync(join(aside, name), join(this.folder, name));
      syncPath(this.folder);
    } catch (cause) {
      throw writeFailure(aside, cause);
    }
  }

  /** Time when refused writes were last dropped to make room, ms since 1970; undefined if never. */
  get droppedAtMs(): number | undefined {
    return statSync(join(this.folder, REFUSED, DROPPED), { throwIfNoEntry: false })?.mtimeMs;
  }

  /** Drops the oldest refused writes above the limits. Ignores errors, which must not stop the delivery of the other writes. */
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
      // In this order a kill does no harm: the file DROPPED is written before a write is dropped, and a reason is removed before its write.
      writeFileAtomic(join(aside, DROPPED), "Writes that were refused before these were dropped to make room.\n");
      for (const { file, why } of tooMany) for (const one of [why, file]) rmSync(one, { force: true });
    } catch {
      return;
    }
  }

  /** Removes half-written files of killed processes, which never acknowledged these writes. */
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

/** Returns the write with a new idempotency key, so that the broker executes it again. */
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

/** Returns the sorted names with the given endings; none if the folder is missing. Errors: STORE_* if the folder cannot be read. */
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

/** Reads a write. Returns "gone" if another process has removed the file, and undefined if the file is not a write. */
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
