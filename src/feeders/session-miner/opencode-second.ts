/**
 * The tables of opencode 2: `session_v2`, and `session_message` with one row a message, ordered by `seq`, changed in place
 * and deleted when the user takes messages back. Made from the published types: the real one was not run. Used by opencode.ts.
 */
import type { Database as SqliteDatabase } from "better-sqlite3";
import { type TypedRow, typedTurnsOf } from "./opencode-rows.ts";
import type { Session, SessionHead } from "./session.ts";

const COLUMNS = {
  session_v2: ["id", "parent_id", "directory", "title", "version", "time_created", "time_updated"],
  session_message: ["id", "session_id", "type", "seq", "time_created", "time_updated", "data"],
};

export function hasSecond(database: SqliteDatabase): boolean {
  return missingColumns(database).length === 0;
}

/** Returns the missing columns in words when there is a `session_v2` of another form; undefined else. */
export function otherSecond(database: SqliteDatabase): string | undefined {
  const missing = missingColumns(database);
  const hasTable = !missing.includes("session_v2.id");
  return hasTable && missing.length > 0 ? `it has no ${missing.join(", ")}` : undefined;
}

function missingColumns(database: SqliteDatabase): string[] {
  const columnsOf = database.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck();
  return Object.entries(COLUMNS).flatMap(([table, needed]) => {
    const columns = columnsOf.all(table);
    return needed.filter((name) => !columns.includes(name)).map((name) => `${table}.${name}`);
  });
}

type HeadRow = { id: string; updated: number; version: string };
type SessionRow = { title: string; directory: string; version: string; created: number };

export class Second {
  readonly #database: SqliteDatabase;
  readonly #includeSubagents: boolean;

  constructor(database: SqliteDatabase, includeSubagents: boolean) {
    this.#database = database;
    this.#includeSubagents = includeSubagents;
  }

  list(): SessionHead[] {
    const isMain = this.#includeSubagents ? "" : "WHERE s.parent_id IS NULL";
    const rows = this.#database
      .prepare<[], HeadRow>(
        `SELECT s.id AS id, max(s.time_updated, coalesce(m.updated, 0)) AS updated,
           printf('2:%s:%s:%s:%s', s.time_updated, m.count, m.updated, m.seq) AS version
         FROM session_v2 s
         LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated, max(seq) AS seq
                    FROM session_message GROUP BY 1) m ON m.session_id = s.id
         ${isMain} ORDER BY s.time_created, s.id`,
      )
      .all();
    return rows.map(({ id, updated, version }) => ({
      ...{ id: String(id), updatedMs: Number(updated), version },
      generation: "opencode 2",
    }));
  }

  read(head: SessionHead): Session | undefined {
    const row = this.#database
      .prepare<[string], SessionRow>(
        "SELECT title, directory, version, time_created AS created FROM session_v2 WHERE id = ?",
      )
      .get(head.id);
    if (row === undefined) return undefined;
    const messages = this.#database
      .prepare<[string], TypedRow>(
        "SELECT id, time_created AS time, type, data FROM session_message WHERE session_id = ? ORDER BY seq",
      )
      .all(head.id);
    return {
      id: head.id,
      title: String(row.title),
      directory: String(row.directory),
      agent: `opencode ${row.version}`,
      createdMs: Number(row.created),
      updatedMs: head.updatedMs,
      turns: typedTurnsOf(messages),
    };
  }
}
