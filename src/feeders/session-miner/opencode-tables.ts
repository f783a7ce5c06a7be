/** SQL for the tables of opencode 1 and 2. Untested with a real opencode 2. Source: harnesses.md 1.5, 1.6; opencode 2's types. */
import type { Database } from "better-sqlite3";
import { type MessageRow, type PartRow, type TypedRow, turnsOf, typedTurnsOf } from "./opencode-rows.ts";
import type { Session, SessionHead, Turn } from "./session.ts";

export type Tables = {
  /** Name of this generation of tables in the report. */
  generation: string;
  sessions: string;
  columns: Readonly<Record<string, readonly string[]>>;
  /** SQL for the time of the last change of a session `s`. */
  updated: string;
  version: string;
  joined: string;
  turns: (database: Database, id: string) => Turn[];
  /** Returns the earlier session of each copied turn, by the turn's id. */
  copies?: (database: Database, id: string, createdMs: number) => ReadonlyMap<string, string>;
};

export const FIRST: Tables = {
  generation: "opencode 1",
  sessions: "session",
  columns: { session: [], message: [], part: [] },
  // `s.time_updated` stays the same if only a part changes, for example when a tool ends.
  updated: "max(s.time_updated, coalesce(m.updated, 0), coalesce(p.updated, 0))",
  version: "printf('%s:%s:%s:%s:%s', s.time_updated, m.count, m.updated, p.count, p.updated)",
  joined: `
    LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated FROM message GROUP BY 1) m
      ON m.session_id = s.id
    LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated FROM part GROUP BY 1) p
      ON p.session_id = s.id`,
  // Does not order by id alone, because the clock in the ids wraps (harnesses.md 1.5).
  turns: (database, id) =>
    turnsOf(
      database
        .prepare<[string], MessageRow>(
          "SELECT id, time_created AS time, data FROM message WHERE session_id = ? ORDER BY time_created, id",
        )
        .all(id),
      database
        .prepare<[string], PartRow>(
          "SELECT message_id AS message, data FROM part WHERE session_id = ? ORDER BY time_created, id",
        )
        .all(id),
    ),
  copies: copiesIn,
};

export const SECOND: Tables = {
  generation: "opencode 2",
  sessions: "session_v2",
  columns: {
    session_v2: ["id", "parent_id", "directory", "title", "version", "time_created", "time_updated"],
    session_message: ["id", "session_id", "type", "seq", "time_created", "time_updated", "data"],
  },
  updated: "max(s.time_updated, coalesce(m.updated, 0))",
  version: "printf('2:%s:%s:%s:%s', s.time_updated, m.count, m.updated, m.seq)",
  joined: `
    LEFT JOIN (SELECT session_id, count(*) AS count, max(time_updated) AS updated, max(seq) AS seq
               FROM session_message GROUP BY 1) m ON m.session_id = s.id`,
  turns: (database, id) =>
    typedTurnsOf(
      database
        .prepare<[string], TypedRow>(
          "SELECT id, time_created AS time, type, data FROM session_message WHERE session_id = ? ORDER BY seq",
        )
        .all(id),
    ),
};

export function missing(database: Database, { columns }: Tables): string[] {
  const columnsOf = database.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck();
  return Object.entries(columns).flatMap(([table, needed]) => {
    const there = columnsOf.all(table);
    if (there.length === 0) return [table];
    return needed.filter((name) => !there.includes(name)).map((name) => `${table}.${name}`);
  });
}

type HeadRow = { id: string; updated: number; version: string };
type SessionRow = { title: string; directory: string; version: string; created: number };

export function headsOf(database: Database, tables: Tables, includeSubagents: boolean): SessionHead[] {
  const { generation, sessions, updated, version, joined } = tables;
  const isMain = includeSubagents ? "" : "WHERE s.parent_id IS NULL";
  const rows = database
    .prepare<[], HeadRow>(
      `SELECT s.id AS id, ${updated} AS updated, ${version} AS version
       FROM ${sessions} s ${joined} ${isMain} ORDER BY s.time_created, s.id`,
    )
    .all();
  return rows.map((row) => ({
    ...{ id: String(row.id), updatedMs: Number(row.updated), version: row.version, generation },
  }));
}

export function sessionOf(database: Database, tables: Tables, head: SessionHead): Session | undefined {
  const row = database
    .prepare<[string], SessionRow>(
      `SELECT title, directory, version, time_created AS created FROM ${tables.sessions} WHERE id = ?`,
    )
    .get(head.id);
  if (row === undefined) return undefined;
  const createdMs = Number(row.created);
  return {
    id: head.id,
    title: String(row.title),
    directory: String(row.directory),
    agent: `opencode ${row.version}`,
    createdMs,
    updatedMs: head.updatedMs,
    turns: tables.turns(database, head.id),
    ...(tables.copies !== undefined && { copies: tables.copies(database, head.id, createdMs) }),
  };
}

/** Finds the turns that a fork copied from an earlier session. Copies have new ids but the old times. */
function copiesIn(database: Database, id: string, created: number): ReadonlyMap<string, string> {
  const rows = database
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
