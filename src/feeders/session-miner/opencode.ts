/**
 * Reads sessions from opencode's database, never the tables with logins. Each session has its own transaction, so that opencode can
 * checkpoint its WAL in between. Source: harnesses.md 1.5, 1.6, 1.10.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Database as SqliteDatabase } from "better-sqlite3";
import { PalaceError, unreadable } from "../../base/errors.ts";
import { FIRST, headsOf, missing, SECOND, sessionOf, type Tables } from "./opencode-tables.ts";
import type { Session, SessionHead, SessionSource } from "./session.ts";

const BUSY_TIMEOUT_MS = 5_000;
const COPIES_MAX = 5;

/** `file`: the database. `scratch`: folder for a copy of it. */
export type OpencodeOptions = { file: string; scratch: string; includeSubagents: boolean };

/** Opens the database, or a copy if it cannot be opened in place. Errors: FEEDER_SOURCE_UNREADABLE. */
export async function openOpencode({ file, scratch, includeSubagents }: OpencodeOptions): Promise<SessionSource> {
  // Loads SQLite only here, because the other agents' sessions do not need it.
  const { default: Database } = await import("better-sqlite3");
  const open = (path: string, readonly: boolean): SqliteDatabase => {
    const database = new Database(path, { readonly, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      assertOpencode(database, file);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };
  if (!existsSync(file))
    throw unreadable(`there is no opencode database at ${file}`, "name it: palace mine sessions --db FILE");
  let copy: string | undefined;
  let database: SqliteDatabase;
  try {
    database = open(file, true);
  } catch (error) {
    if (!isUnopened(error)) throw typed(error, file);
    copy = copyDatabase(file, scratch);
    try {
      database = open(join(copy, basename(file)), false);
    } catch (second) {
      rmSync(copy, { recursive: true, force: true });
      throw typed(second, file);
    }
  }
  return new Opencode(database, file, includeSubagents, copy);
}

class Opencode implements SessionSource {
  readonly place: string;
  readonly #database: SqliteDatabase;
  readonly #copy: string | undefined;
  readonly #includeSubagents: boolean;
  readonly #there: readonly Tables[];

  constructor(database: SqliteDatabase, file: string, includeSubagents: boolean, copy: string | undefined) {
    this.#database = database;
    this.place = file;
    this.#includeSubagents = includeSubagents;
    this.#copy = copy;
    this.#there = [FIRST, SECOND].filter((tables) => missing(database, tables).length === 0);
  }

  list(): SessionHead[] {
    return this.#guarded(() => {
      const heads = this.#there.flatMap((tables) => headsOf(this.#database, tables, this.#includeSubagents));
      const live = new Set(heads.filter(({ generation }) => generation === SECOND.generation).map(({ id }) => id));
      return heads.filter(({ id, generation }) => generation === SECOND.generation || !live.has(id));
    });
  }

  read(head: SessionHead): Session | undefined {
    return this.#guarded(() =>
      this.#database.transaction(() => {
        const [frozen, live] = [FIRST, SECOND].map((tables) =>
          this.#there.includes(tables) ? sessionOf(this.#database, tables, head) : undefined,
        );
        if (live === undefined || frozen === undefined) return live ?? frozen;
        // opencode 2 may have copied messages of 1.x, so messages of 1.x count only before the first message of opencode 2.
        const since = live.turns[0]?.atMs ?? Infinity;
        const turns = [...frozen.turns.filter(({ atMs }) => atMs < since), ...live.turns];
        return { ...frozen, ...live, turns };
      })(),
    );
  }

  close(): void {
    this.#database.close();
    if (this.#copy !== undefined) rmSync(this.#copy, { recursive: true, force: true });
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw typed(error, this.place);
    }
  }
}

function assertOpencode(database: SqliteDatabase, file: string): void {
  const ofSecond = missing(database, SECOND);
  if (ofSecond.length === 0) return;
  // A database of opencode 2 is not read by its tables of 1.x alone, because they lack the sessions of opencode 2.
  if (!ofSecond.includes(SECOND.sessions))
    throw unreadable(
      `${file} is of an opencode that this version cannot read: it has no ${ofSecond.join(", ")}; nothing was filed`,
      "install a newer palace-devbox",
    );
  const ofFirst = missing(database, FIRST);
  if (ofFirst.length === 0) return;
  throw unreadable(
    `${file} is not an opencode database: it has no table ${ofFirst.join(", ")}`,
    "opencode 1.2 or newer keeps its sessions in opencode.db; name it: palace mine sessions --db FILE",
  );
}

/** Returns true if the database cannot be opened in place, for example in a read-only folder. */
function isUnopened(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code);
  return code.startsWith("SQLITE_CANTOPEN") || code.startsWith("SQLITE_READONLY");
}

/** Copies the database and its WAL, again if one of them changed meanwhile. Errors: FEEDER_SOURCE_UNREADABLE after the last try. */
function copyDatabase(file: string, scratch: string): string {
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(scratch, "copy-"));
  for (let attempt = 0; attempt < COPIES_MAX; attempt += 1) {
    const before = stamp(file);
    for (const suffix of ["", "-wal"]) {
      const target = join(folder, basename(file) + suffix);
      rmSync(target, { force: true });
      if (existsSync(file + suffix)) copyFileSync(file + suffix, target);
    }
    if (stamp(file) === before) return folder;
  }
  rmSync(folder, { recursive: true, force: true });
  throw unreadable(`${file} changes faster than it can be copied`, "make its folder writable, or end opencode first");
}

function stamp(file: string): string {
  return ["", "-wal"]
    .map((suffix) => statSync(file + suffix, { bigint: true, throwIfNoEntry: false }))
    .map((stat) => (stat === undefined ? "-" : `${stat.size}:${stat.mtimeNs}`))
    .join(" ");
}

function typed(error: unknown, file: string): PalaceError {
  if (error instanceof PalaceError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return unreadable(
    `${file} cannot be read: ${reason}`,
    "check the file, or name another: palace mine sessions --db FILE",
    error,
  );
}
