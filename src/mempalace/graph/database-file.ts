/** Reads and writes upstream's knowledge_graph.sqlite3 (palace.md 3.6). A transaction begins with a check for writes of other programs. */
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { isColumns, readColumn } from "../../memory/ledger/json-column.ts";
import type { DatabaseKind, FileRow, Finding, ListedRow, RowName } from "../../memory/ledger/graph-row.ts";
import type { LedgerDatabase } from "../../memory/ledger/open.ts";
import { columnsOf, GRAPH_TABLES } from "../../memory/ledger/schema/graph-schema.ts";
import { selectRow, selectRows, selectValue, selectValues } from "../../memory/ledger/select.ts";

const KINDS: readonly DatabaseKind[] = ["entity", "triple"];
/** Maximum time to wait for another process's commit, ms. */
const BUSY_TIMEOUT_MS = 2_000;
/** Version of a file that does not exist. Other versions are SQLite's count of foreign commits. */
const ABSENT = "absent";
/** Name under which the file is attached to the ledger's read-only connection. */
const THEIRS = "public_graph";

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
  /** Version of the file at the last look: SQLite's count of foreign commits, or `absent`. */
  #seen: number | typeof ABSENT | undefined;
  /** Version whose rows the ledger has adopted. */
  #accepted: number | typeof ABSENT | undefined;

  constructor(file: string) {
    this.file = file;
  }

  /** Compares file and ledger. Returns undefined if no other program wrote since the last accepted look. */
  look(ledger: LedgerDatabase): Finding | undefined {
    const database = this.#open();
    const version = database === undefined ? ABSENT : versionOf(database);
    if (version === this.#accepted) return undefined;
    this.#seen = version;
    // The version was read before the rows, so the next look finds a commit in between.
    return compare(ledger, database === undefined ? undefined : this.file);
  }

  accept(): void {
    this.#accepted = this.#seen;
  }

  /** Writes the rows to the file. Returns false and writes nothing if another program wrote since the last accepted look. */
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

  /** Opens the graph's file, again if it was replaced; undefined if it does not exist. */
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
    // Allows rows that refer to missing rows, because upstream writes such rows.
    database.pragma("foreign_keys = OFF");
    // The ledger forgets rows once they are sent, so a power cut must not lose them here.
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
    if (database === undefined) throw new Error(`${this.file} was deleted while it was being made`);
    return database;
  }

  /** Creates missing tables, and adds columns that older files lack, as upstream does at each opening. */
  #prepare(database: LedgerDatabase): void {
    if (this.#isPrepared) return;
    database.exec(GRAPH_FILE_SCHEMA);
    const absent = absentColumns(database, "triple", "main");
    for (const column of ["source_drawer_id", "adapter_name"])
      if (absent.has(column)) database.exec(`ALTER TABLE triples ADD COLUMN ${column} TEXT`);
    this.#isPrepared = true;
  }
}

/** Counts the facts that the file has and the ledger lacks, for a graph file that we never write. */
export function countFactsOnlyIn(file: string, ledger: LedgerDatabase): number {
  const { table, fileTable } = GRAPH_TABLES.triple;
  ledger.prepare(`ATTACH ? AS ${THEIRS}`).run(file);
  try {
    const isGraph = `SELECT 1 FROM ${THEIRS}.sqlite_master WHERE type = 'table' AND name = ?`;
    if (selectRow(ledger, isGraph, fileTable) === undefined) return 0;
    const isOurs = `SELECT 1 FROM ${table} ours WHERE ours.id = CAST(theirs.id AS TEXT)`;
    const sql = `SELECT count(*) FROM ${THEIRS}.${fileTable} theirs WHERE id IS NOT NULL AND NOT EXISTS (${isOurs})`;
    return selectValue<number>(ledger, sql) ?? 0;
  } finally {
    ledger.exec(`DETACH ${THEIRS}`);
  }
}

/** Turns the write-ahead log on if possible, as upstream does. Readers then do not block writers. */
function useLog(database: LedgerDatabase): void {
  try {
    database.pragma("journal_mode = WAL");
  } catch {
    // A locked or read-only file keeps its mode. Any other error is reported when the file is read.
  }
}

function versionOf(database: LedgerDatabase): number {
  return database.pragma("data_version", { simple: true }) as number;
}

/** Compares both files within SQLite, so that only differing rows are transferred. */
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

/** Compares one kind of rows. A row in `graph_outbox` still waits to be sent; for any other row a difference is a foreign change. */
function compareKind(ledger: LedgerDatabase, kind: DatabaseKind, isThere: boolean): Omit<Finding, "deleted"> {
  const { table, fileTable, columns } = GRAPH_TABLES[kind];
  const absent = isThere ? absentColumns(ledger, kind, THEIRS) : new Set<string>(columns);
  // If none of our columns exist, the table is missing or belongs to another program.
  const hasTable = absent.size < columns.length;
  const theirs = columnsOf(kind, absent, "theirs");
  const isSame = columns.map((column, index) => `ours.${column} IS ${theirs[index]}`).join(" AND ");
  const rowSql = `SELECT '${kind}' AS kind, CAST(theirs.id AS TEXT) AS id, json_array(${theirs.join()}) AS body
    FROM ${THEIRS}.${fileTable} theirs LEFT JOIN ${table} ours ON ours.id = CAST(theirs.id AS TEXT)
    WHERE theirs.id IS NOT NULL AND (ours.id IS NULL OR NOT (${isSame})) ORDER BY theirs.rowid`;
  const rows = hasTable ? selectRows<FileRow>(ledger, rowSql) : [];
  const isGone = hasTable ? `NOT EXISTS (SELECT 1 FROM ${THEIRS}.${fileTable} theirs WHERE theirs.id = ours.id)` : "1";
  const sql = `SELECT '${kind}' AS kind, ours.id FROM ${table} ours WHERE ${isGone}
    AND NOT EXISTS (SELECT 1 FROM graph_outbox WHERE kind = '${kind}' AND id = ours.id)`;
  const missing = selectRows<RowName>(ledger, sql);
  return { rows, missing };
}

function absentColumns(database: LedgerDatabase, kind: DatabaseKind, schema: string): ReadonlySet<string> {
  const { fileTable, columns } = GRAPH_TABLES[kind];
  const there = new Set(selectValues<string>(database, "SELECT name FROM pragma_table_info(?, ?)", fileTable, schema));
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
    else put.run(id, ...readColumn("graph_outbox", body, isColumns));
  }
}
