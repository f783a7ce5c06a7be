/**
 * Reads sessions from opencode's database in place, while opencode writes it: read-only, in one transaction per session, so
 * that its log can be checkpointed in between. If it cannot be opened so (a folder without write access has no shared
 * memory file), a copy of it and its log is read. Tables with logins are never read. Source: harnesses.md 1.5, 1.6, 1.10.
 * opencode 2 keeps its sessions in tables of its own and leaves those of 1.x as they were: opencode-second.ts.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Database as SqliteDatabase } from "better-sqlite3";
import { PalaceError } from "../../base/errors.ts";
import { type MessageRow, type PartRow, turnsOf } from "./opencode-rows.ts";
import { hasSecond, otherSecond, Second } from "./opencode-second.ts";
import type { Session, SessionHead, SessionSource } from "./session.ts";

const BUSY_TIMEOUT_MS = 5_000;
const COPIES_MAX = 5;

/** `scratch` is the folder for a copy, if one is needed. */
export type OpencodeOptions = { file: string; scratch: string; includeSubagents: boolean };

type HeadRow = { id: string; updated: number; version: string };
type SessionRow = { id: string; title: string; directory: string; version: string; created: number; updated: number };

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export async function openOpencode({ file, scratch, includeSubagents }: OpencodeOptions): Promise<SessionSource> {
  // The import is lazy: the other sources need no SQLite.
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

/** Names the tables of 1.x in the report. */
const FIRST = "opencode 1";

class Opencode implements SessionSource {
  readonly place: string;
  readonly #database: SqliteDatabase;
  readonly #copy: string | undefined;
  readonly #includeSubagents: boolean;
  readonly #hasFirst: boolean;
  readonly #second: Second | undefined;

  constructor(database: SqliteDatabase, file: string, includeSubagents: boolean, copy: string | undefined) {
    this.#database = database;
    this.place = file;
    this.#includeSubagents = includeSubagents;
    this.#copy = copy;
    this.#hasFirst = missingFirst(database).length === 0;
    this.#second = hasSecond(database) ? new Second(database, includeSubagents) : undefined;
  }

  list(): SessionHead[] {
    return this.#guarded(() => {
      const live = this.#second?.list() ?? [];
      const ids = new Set(live.map(({ id }) => id));
      const frozen = this.#hasFirst ? this.#listFirst().filter(({ id }) => !ids.has(id)) : [];
      return [...frozen, ...live];
    });
  }

  #listFirst(): SessionHead[] {
    const isMain = this.#includeSubagents ? "" : "WHERE s.parent_id IS NULL";
    // The session's own time does not change with each part: a tool that ends changes only its part.
    const rows = this.#database
      .prepare<[], HeadRow>(
        `SELECT s.id AS id, max(s.time_updated, coalesce(m.updated, 0), coalesce(p.updated, 0)) AS updated,
             printf('%s:%s:%s:%s:%s', s.time_updated, m.count, m.updated, p.count, p.updated) AS version
           FROM session s
           LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated FROM message GROUP BY 1) m
             ON m.session_id = s.id
           LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated FROM part GROUP BY 1) p
             ON p.session_id = s.id
           ${isMain} ORDER BY s.time_created, s.id`,
      )
      .all();
    return rows.map(({ id, updated, version }) => ({
      ...{ id: String(id), updatedMs: Number(updated), version },
      generation: FIRST,
    }));
  }

  read(head: SessionHead): Session | undefined {
    return this.#guarded(() =>
      this.#database.transaction(() => {
        const live = this.#second?.read(head);
        const frozen = this.#hasFirst ? this.#readFirst(head) : undefined;
        if (live === undefined || frozen === undefined) return live ?? frozen;
        // opencode 2 may have taken over what 1.x held, or go on after it.
        const since = live.turns[0]?.atMs ?? Infinity;
        const turns = [...frozen.turns.filter(({ atMs }) => atMs < since), ...live.turns];
        return { ...frozen, ...live, turns };
      })(),
    );
  }

  #readFirst(head: SessionHead): Session | undefined {
    const row = this.#database
      .prepare<[string], SessionRow>(
        `SELECT id, title, directory, version, time_created AS created, time_updated AS updated
             FROM session WHERE id = ?`,
      )
      .get(head.id);
    if (row === undefined) return undefined;
    // The order never relies on ids alone: their clock wraps (harnesses.md 1.5).
    const messages = this.#database
      .prepare<[string], MessageRow>(
        "SELECT id, time_created AS time, data FROM message WHERE session_id = ? ORDER BY time_created, id",
      )
      .all(head.id);
    const parts = this.#database
      .prepare<[string], PartRow>(
        "SELECT message_id AS message, data FROM part WHERE session_id = ? ORDER BY time_created, id",
      )
      .all(head.id);
    return {
      id: head.id,
      title: String(row.title),
      directory: String(row.directory),
      agent: `opencode ${row.version}`,
      createdMs: Number(row.created),
      updatedMs: head.updatedMs,
      turns: turnsOf(messages, parts),
      copies: this.#copies(head.id, row.created),
    };
  }

  /** A fork begins with copies of an earlier session's messages, under other ids and with their old times. */
  #copies(id: string, created: number): ReadonlyMap<string, string> {
    const rows = this.#database
      .prepare<{ id: string; created: number }, { copy: string; earlier: string | null }>(
        `SELECT c.id AS copy,
           (SELECT s.id FROM message m JOIN session s ON s.id = m.session_id
              WHERE m.time_created = c.time_created AND s.time_created < @created AND s.parent_id IS NULL
              ORDER BY s.time_created, s.id LIMIT 1) AS earlier
         FROM message c WHERE c.session_id = @id AND c.time_created < @created`,
      )
      .all({ id, created });
    return new Map(rows.flatMap(({ copy, earlier }) => (earlier === null ? [] : [[copy, earlier]])));
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
  if (hasSecond(database)) return;
  const columns = otherSecond(database);
  // The tables of 1.x may be there as well, but nobody writes them any more.
  if (columns !== undefined)
    throw unreadable(
      `${file} is of an opencode that this version cannot read: ${columns}; nothing was filed`,
      "install a newer palace-devbox",
    );
  const missing = missingFirst(database);
  if (missing.length === 0) return;
  throw unreadable(
    `${file} is no opencode database: it has no table ${missing.join(", ")}`,
    "opencode 1.2 or newer keeps its sessions in opencode.db; name it: palace mine sessions --db FILE",
  );
}

function missingFirst(database: SqliteDatabase): string[] {
  const tables = database.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  return ["session", "message", "part"].filter((name) => !tables.includes(name));
}

/** True when it cannot be opened in place: read-only folder, no shared memory. */
function isUnopened(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code);
  return code.startsWith("SQLITE_CANTOPEN") || code.startsWith("SQLITE_READONLY");
}

/** Copies database and log together, and only if neither changed in the meantime. */
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

function unreadable(message: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("FEEDER_SOURCE_UNREADABLE", message, hint, { cause });
}
