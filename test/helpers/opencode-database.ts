/** Writes databases as opencode 1.18.33 does (harnesses.md 1.5 to 1.7). A test can read a database while its writer is open. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { chooserOf, prose } from "./transcripts.ts";

const SCHEMA = `
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, icon_url text, icon_url_override text,
  icon_color text, time_created integer NOT NULL, time_updated integer NOT NULL, time_initialized integer,
  sandboxes text NOT NULL, commands text);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL REFERENCES project(id) ON DELETE CASCADE, workspace_id text,
  parent_id text, slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, share_url text,
  summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, metadata text,
  cost real NOT NULL DEFAULT 0, tokens_input integer NOT NULL DEFAULT 0, tokens_output integer NOT NULL DEFAULT 0,
  tokens_reasoning integer NOT NULL DEFAULT 0, tokens_cache_read integer NOT NULL DEFAULT 0,
  tokens_cache_write integer NOT NULL DEFAULT 0, revert text, permission text, agent text, model text,
  time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE, content text NOT NULL, status text NOT NULL,
  priority text NOT NULL, position integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  PRIMARY KEY (session_id, position));
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL REFERENCES event_sequence(aggregate_id) ON DELETE CASCADE,
  seq integer NOT NULL, type text NOT NULL, data text NOT NULL);
CREATE TABLE credential (id text PRIMARY KEY, data text NOT NULL);
CREATE TABLE migration (id text PRIMARY KEY, time_completed integer NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE INDEX session_project_idx ON session (project_id);
CREATE INDEX session_parent_idx ON session (parent_id);
CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq);
INSERT INTO project VALUES ('global', '/', NULL, NULL, NULL, NULL, NULL, 1, 1, NULL, '[]', NULL);
INSERT INTO credential VALUES ('secret', 'sk-very-secret-login');
`;

export type SessionFields = {
  id: string;
  title?: string;
  directory?: string;
  parent?: string | null;
  createdMs?: number;
};

export type OpencodeDatabase = {
  file: string;
  addSession(session: SessionFields): void;
  /** Adds a message and returns its id. `parts` are as opencode stores them. */
  addMessage(session: string, data: object, parts: readonly object[], atMs?: number): string;
  remove(session: string): void;
  /** Changes the last part of a message, as opencode does when a tool ends. */
  endTool(message: string, state: object): void;
  close(): void;
};

const START_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Opens the database. Data stays in the write-ahead log even after closing, as with opencode. */
export function createOpencodeDatabase(file: string): OpencodeDatabase {
  mkdirSync(dirname(file), { recursive: true });
  const database = new Database(file);
  for (const pragma of ["journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 5000", "foreign_keys = ON"])
    database.pragma(pragma);
  database.pragma("wal_autocheckpoint = 0");
  database.exec(SCHEMA);
  const addSession = database.prepare(
    `INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)
     VALUES (?, 'global', ?, 'slug', ?, ?, '1.18.33', ?, ?)`,
  );
  const addMessage = database.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?)");
  const addPart = database.prepare("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)");
  const touch = database.prepare("UPDATE session SET time_updated = max(time_updated, ?) WHERE id = ?");
  let clock = START_MS;
  let count = 0;
  return {
    file,
    addSession({
      id,
      title = `Session ${id}`,
      directory = "/home/u/project",
      parent = null,
      createdMs = (clock += 1000),
    }) {
      addSession.run(id, parent, directory, title, createdMs, createdMs);
    },
    addMessage(session, data, parts, atMs = (clock += 1000)) {
      const id = `msg_${String((count += 1)).padStart(8, "0")}`;
      database.transaction(() => {
        addMessage.run(id, session, atMs, atMs, JSON.stringify(data));
        parts.forEach((part, index) =>
          addPart.run(`prt_${id}_${index}`, id, session, atMs + index, atMs + index, JSON.stringify(part)),
        );
        touch.run(atMs, session);
      })();
      return id;
    },
    remove: (session) => void database.prepare("DELETE FROM session WHERE id = ?").run(session),
    endTool(message, state) {
      const part = database
        .prepare<[string], { id: string; data: string }>(
          "SELECT id, data FROM part WHERE message_id = ? ORDER BY id DESC",
        )
        .get(message);
      if (part === undefined) throw new Error(`${message} has no part`);
      const data = { ...(JSON.parse(part.data) as object), state };
      database
        .prepare("UPDATE part SET data = ?, time_updated = ? WHERE id = ?")
        .run(JSON.stringify(data), (clock += 1000), part.id);
    },
    close: () => database.close(),
  };
}

/** Tables of opencode 2, as its published schema has them. */
const SECOND = `
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
  title text NOT NULL, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session_v2(id) ON DELETE CASCADE,
  type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
`;

export type Opencode2Database = {
  addSession(session: SessionFields): void;
  add(session: string, type: string, data: object, atMs?: number): string;
  /** Reverts this message and all later messages. */
  revert(message: string): void;
  close(): void;
};

/** Opens or makes a database of opencode 2. Upgrades a database of 1.x, which retains its old tables. */
export function openOpencode2Database(file: string): Opencode2Database {
  mkdirSync(dirname(file), { recursive: true });
  const database = new Database(file);
  for (const pragma of ["journal_mode = WAL", "foreign_keys = ON", "wal_autocheckpoint = 0"]) database.pragma(pragma);
  database.exec(SECOND);
  const addSession = database.prepare("INSERT INTO session_v2 VALUES (?, 'global', ?, 'slug', ?, ?, '2.2.6', ?, ?)");
  const add = database.prepare("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)");
  let clock = START_MS + 86_400_000;
  let count = 0;
  return {
    addSession({ id, title = `Session ${id}`, directory = "/home/u/project", parent = null, createdMs = clock }) {
      addSession.run(id, parent, directory, title, createdMs, createdMs);
    },
    add(session, type, data, atMs = (clock += 1000)) {
      const id = `msg_v2_${String((count += 1)).padStart(8, "0")}`;
      add.run(id, session, type, count, atMs, atMs, JSON.stringify(data));
      return id;
    },
    revert: (message) =>
      void database
        .prepare("DELETE FROM session_message WHERE seq >= (SELECT seq FROM session_message WHERE id = ?)")
        .run(message),
    close: () => database.close(),
  };
}

export const user = (text: string): [object, object[]] => [
  { role: "user", time: { created: 1 }, agent: "build" },
  [{ type: "text", text }],
];

export const assistant = (...parts: object[]): [object, object[]] => [
  { role: "assistant", parentID: "x", modelID: "m", providerID: "p", mode: "build", time: { created: 1 } },
  [{ type: "step-start" }, ...parts, { type: "step-finish", reason: "stop", cost: 0, tokens: {} }],
];

export const said = (text: string): object => ({ type: "text", text, time: { start: 1, end: 2 } });
export const thought = (text: string): object => ({ type: "reasoning", text, time: { start: 1, end: 2 } });
export const called = (tool: string, input: object, output: string): object => ({
  ...{ type: "tool", tool, callID: `call_${tool}` },
  state: { status: "completed", input, output, title: tool, metadata: {}, time: { start: 1, end: 2 } },
});

/** Adds sessions with messages as agents write them. Equal seeds give equal sessions. */
export function fillOpencode(
  database: OpencodeDatabase,
  { sessions, messages, seed }: Record<"sessions" | "messages" | "seed", number>,
): void {
  const chooser = chooserOf(seed);
  const each = Math.max(2, Math.round(messages / sessions));
  for (let index = 0; index < sessions; index++) {
    const id = `ses_${String(index).padStart(6, "0")}`;
    database.addSession({ id, title: `Talk ${index}`, directory: `/home/u/project-${index % 4}` });
    for (let at = 0; at < each; at += 2) {
      database.addMessage(id, ...user(prose(chooser, 4)));
      const tool = chooser.pick([
        called("bash", { command: prose(chooser, 1) }, prose(chooser, 30)),
        called("read", { filePath: "/a/b.ts", offset: 1, limit: 20 }, prose(chooser, 20)),
        called("palace_search", { query: prose(chooser, 1) }, prose(chooser, 10)),
      ]);
      database.addMessage(id, ...assistant(thought(prose(chooser, 3)), tool, said(prose(chooser, 15))));
    }
  }
}
