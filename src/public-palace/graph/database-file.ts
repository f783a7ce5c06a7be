/**
 * Upstream's knowledge_graph.sqlite3 (palace.md 3.6): what others wrote there is read whenever SQLite says that somebody did,
 * what the ledger has new is written in short transactions, each of which first makes sure that nobody wrote since. Any
 * number of MemPalaces may be at work in the file meanwhile. Runs on the graph thread.
 */
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import type { DatabaseKind, FileRow, Finding, ListedRow, RowName } from "../../ledger/graph-row.ts";
import type { LedgerDatabase } from "../../ledger/open.ts";
import { columnsOf, GRAPH_TABLES } from "../../ledger/schema/graph-schema.ts";

const KINDS: readonly DatabaseKind[] = ["entity", "triple"];
/** A commit of another process is waited for so long, by this thread. */
const BUSY_TIMEOUT_MS = 2_000;
/** In place of SQLite's number of others' commits where there is no file. */
const ABSENT = "absent";
/** The file beside the ledger, on the ledger's connection, which can only read. */
const THEIRS = "public_graph";

/** As upstream makes them. */
export const GRAPH_FILE_SCHEMA = `
CREATE TABLE IF NOT EXISTS entities (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  type TEXT DEFAULT 'unknown',
  properties TEXT DEFAULT '{}',
  created_at TEXT DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS triples (
  id TEXT PRIMARY KEY,
  subject TEXT NOT NULL,
  predicate TEXT NOT NULL,
  object TEXT NOT NULL,
  valid_from TEXT,
  valid_to TEXT,
  confidence REAL DEFAULT 1.0,
  source_closet TEXT,
  source_file TEXT,
  source_drawer_id TEXT,
  adapter_name TEXT,
  extracted_at TEXT DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (subject) REFERENCES entities(id),
  FOREIGN KEY (object) REFERENCES entities(id)
);
CREATE INDEX IF NOT EXISTS idx_triples_subject ON triples(subject);
CREATE INDEX IF NOT EXISTS idx_triples_object ON triples(object);
CREATE INDEX IF NOT EXISTS idx_triples_predicate ON triples(predicate);
CREATE INDEX IF NOT EXISTS idx_triples_valid ON triples(valid_from, valid_to);
`;

export class DatabaseFile {
  readonly kinds = KINDS;
  readonly file: string;
  #database: LedgerDatabase | undefined;
  #inode = 0n;
  #isPrepared = false;
  /** SQLite's number of others' commits, or "absent", at the last look; and when what was found had been taken over. */
  #seen: number | typeof ABSENT | undefined;
  #accepted: number | typeof ABSENT | undefined;

  constructor(file: string) {
    this.file = file;
  }

  /** Undefined: nobody wrote since the last look that was accepted. Errors: SQLite's. */
  look(ledger: LedgerDatabase): Finding | undefined {
    const database = this.#open();
    const version = database === undefined ? ABSENT : versionOf(database);
    if (version === this.#accepted) return undefined;
    this.#seen = version;
    // What is committed from here on changes the version, and is found by the next look.
    return compare(ledger, database === undefined ? undefined : this.file);
  }

  accept(): void {
    this.#accepted = this.#seen;
  }

  /** False: somebody wrote since the last look, and nothing was sent. Errors: SQLite's. */
  send(rows: readonly ListedRow[]): boolean {
    let database = this.#open();
    if (database === undefined) {
      if (this.#accepted !== ABSENT) return false;
      database = this.#create();
      this.#accepted = this.#seen = versionOf(database);
    }
    database.exec("BEGIN IMMEDIATE");
    try {
      if (versionOf(database) !== this.#accepted) {
        database.exec("ROLLBACK");
        return false;
      }
      this.#prepare(database);
      for (const kind of KINDS)
        write(
          database,
          kind,
          rows.filter((row) => row.kind === kind),
        );
      database.exec("COMMIT");
      return true;
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
    this.#isPrepared = false;
    this.#accepted = undefined;
  }

  /** Undefined where there is no file. One that was put in its place is another file. */
  #open(): LedgerDatabase | undefined {
    const inode = statSync(this.file, { throwIfNoEntry: false, bigint: true })?.ino;
    if (this.#database !== undefined && inode === this.#inode) return this.#database;
    const wasAbsent = this.#accepted === ABSENT;
    this.close();
    if (inode === undefined) {
      if (wasAbsent) this.#accepted = ABSENT;
      return undefined;
    }
    const database = new Database(this.file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    // As upstream, which has rows that refer to nothing.
    database.pragma("foreign_keys = OFF");
    // The list forgets what was sent, so what was sent must outlast a power cut.
    database.pragma("synchronous = FULL");
    this.#database = database;
    this.#inode = inode;
    useLog(database);
    return database;
  }

  #create(): LedgerDatabase {
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    closeSync(openSync(this.file, "a", 0o600));
    const database = this.#open();
    if (database === undefined) throw new Error(`${this.file} vanished as it was made`);
    return database;
  }

  /** As upstream does at each opening: what is missing is made, the columns that older files lack are added. */
  #prepare(database: LedgerDatabase): void {
    if (this.#isPrepared) return;
    database.exec(GRAPH_FILE_SCHEMA);
    const absent = absentColumns(database, "triple", "main");
    for (const column of ["source_drawer_id", "adapter_name"])
      if (absent.has(column)) database.exec(`ALTER TABLE triples ADD COLUMN ${column} TEXT`);
    this.#isPrepared = true;
  }
}

/** Of a graph that is never written. Errors: SQLite's. */
export function countFactsOnlyIn(file: string, ledger: LedgerDatabase): number {
  const { table, fileTable } = GRAPH_TABLES.triple;
  ledger.prepare(`ATTACH ? AS ${THEIRS}`).run(file);
  try {
    const isGraph = `SELECT 1 FROM ${THEIRS}.sqlite_master WHERE type = 'table' AND name = ?`;
    if (ledger.prepare(isGraph).get(fileTable) === undefined) return 0;
    const isOurs = `SELECT 1 FROM ${table} ours WHERE ours.id = CAST(theirs.id AS TEXT)`;
    const sql = `SELECT count(*) FROM ${THEIRS}.${fileTable} theirs WHERE id IS NOT NULL AND NOT EXISTS (${isOurs})`;
    return ledger.prepare<[], number>(sql).pluck().get() ?? 0;
  } finally {
    ledger.exec(`DETACH ${THEIRS}`);
  }
}

/** As upstream does at each opening: a reader then keeps no writer from committing. It does without where that cannot be. */
function useLog(database: LedgerDatabase): void {
  try {
    database.pragma("journal_mode = WAL");
  } catch {
    // Somebody has it locked, or it can only be read; what else may be wrong shows in the reading.
  }
}

function versionOf(database: LedgerDatabase): number {
  return database.pragma("data_version", { simple: true }) as number;
}

/** By SQLite itself, over both files at once: no row but those that differ is carried about. */
function compare(ledger: LedgerDatabase, file: string | undefined): Finding {
  if (file !== undefined) ledger.prepare(`ATTACH ? AS ${THEIRS}`).run(file);
  try {
    return ledger.transaction(() => {
      const findings = KINDS.map((kind) => compareKind(ledger, kind, file !== undefined));
      return {
        rows: findings.flatMap(({ rows }) => rows),
        missing: findings.flatMap(({ missing }) => missing),
        deleted: [],
      };
    })();
  } finally {
    if (file !== undefined) ledger.exec(`DETACH ${THEIRS}`);
  }
}

/**
 * Listed rows are ours to send, and differ until they are. A row that is not listed was there as the ledger has it: what is
 * different now, somebody else made so. In the order upstream sees the rows.
 */
function compareKind(ledger: LedgerDatabase, kind: DatabaseKind, isThere: boolean): Omit<Finding, "deleted"> {
  const { table, fileTable, columns } = GRAPH_TABLES[kind];
  const absent = isThere ? absentColumns(ledger, kind, THEIRS) : new Set<string>(columns);
  // No table, or another program's.
  const hasTable = absent.size < columns.length;
  const theirs = columnsOf(kind, absent, "theirs");
  const isSame = columns.map((column, index) => `ours.${column} IS ${theirs[index]}`).join(" AND ");
  const rows = hasTable
    ? ledger
        .prepare<[], FileRow>(
          `SELECT '${kind}' AS kind, CAST(theirs.id AS TEXT) AS id, json_array(${theirs.join()}) AS body
             FROM ${THEIRS}.${fileTable} theirs LEFT JOIN ${table} ours ON ours.id = CAST(theirs.id AS TEXT)
             WHERE theirs.id IS NOT NULL AND (ours.id IS NULL OR NOT (${isSame})) ORDER BY theirs.rowid`,
        )
        .all()
    : [];
  const isGone = hasTable ? `NOT EXISTS (SELECT 1 FROM ${THEIRS}.${fileTable} theirs WHERE theirs.id = ours.id)` : "1";
  const missing = ledger
    .prepare<[], RowName>(
      `SELECT '${kind}' AS kind, ours.id FROM ${table} ours WHERE ${isGone}
         AND NOT EXISTS (SELECT 1 FROM graph_outbox WHERE kind = '${kind}' AND id = ours.id)`,
    )
    .all();
  return { rows, missing };
}

function absentColumns(database: LedgerDatabase, kind: DatabaseKind, schema: string): ReadonlySet<string> {
  const { fileTable, columns } = GRAPH_TABLES[kind];
  const there = new Set(
    database
      .prepare<[string, string], string>("SELECT name FROM pragma_table_info(?, ?)")
      .pluck()
      .all(fileTable, schema),
  );
  return new Set<string>(columns.filter((column) => !there.has(column)));
}

function write(database: LedgerDatabase, kind: DatabaseKind, rows: readonly ListedRow[]): void {
  const { fileTable, columns } = GRAPH_TABLES[kind];
  const put = database.prepare(
    `INSERT INTO ${fileTable} (id, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})
       ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`,
  );
  const remove = database.prepare(`DELETE FROM ${fileTable} WHERE id = ?`);
  for (const { id, body } of rows) {
    if (body === null) remove.run(id);
    else put.run(id, ...(JSON.parse(body) as unknown[]));
  }
}
