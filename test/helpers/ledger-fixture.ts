/**
 * A small ledger file with the tables that the search threads read, for their tests. The real one is made by
 * src/store/ledger; this one has no journal and no queue.
 */
import Database from "better-sqlite3";
import { quantize } from "../../src/store/vectors/quantize.ts";

export type FixtureDrawer = {
  text: string;
  wing?: string;
  room?: string;
  sourceFile?: string;
  dateWords?: string;
  vector?: Float32Array;
};

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE drawer(row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, wing TEXT, room TEXT, source_file TEXT,
    text TEXT, date_words TEXT, metadata TEXT, text_version INTEGER);
  CREATE INDEX drawer_place ON drawer(wing, room, row);
  CREATE INDEX drawer_source ON drawer(source_file);
  CREATE VIRTUAL TABLE drawer_fts USING fts5(text, date_words, content='drawer', content_rowid='row',
    tokenize='porter unicode61');
  CREATE TRIGGER drawer_added AFTER INSERT ON drawer BEGIN
    INSERT INTO drawer_fts(rowid, text, date_words) VALUES (new.row, new.text, new.date_words);
  END;
  CREATE TRIGGER drawer_gone AFTER DELETE ON drawer BEGIN
    INSERT INTO drawer_fts(drawer_fts, rowid, text, date_words) VALUES ('delete', old.row, old.text, old.date_words);
  END;
  CREATE TABLE vector(row INTEGER PRIMARY KEY, vector BLOB);
  CREATE TABLE vector_code(row INTEGER PRIMARY KEY, code BLOB, scale REAL);
  CREATE TABLE source(row INTEGER PRIMARY KEY, source_file TEXT UNIQUE, wing TEXT, mtime REAL, sha256 TEXT,
    drawers INTEGER);
  CREATE VIRTUAL TABLE source_fts USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61');
`;

export function createLedger(file: string): Database.Database {
  const ledger = new Database(file);
  ledger.exec(SCHEMA);
  return ledger;
}

/** Returns the rows given. Also files each source as one document, as the real writer does in the background. */
export function insertDrawers(ledger: Database.Database, drawers: readonly FixtureDrawer[]): number[] {
  const insert = ledger.prepare(
    "INSERT INTO drawer(id, wing, room, source_file, text, date_words, metadata, text_version) VALUES (?,?,?,?,?,?,'{}',1)",
  );
  const rows: number[] = [];
  ledger.transaction(() => {
    const start = lastRow(ledger);
    drawers.forEach((drawer, at) => {
      const { wing = "wing", room = "room", sourceFile = "", text, dateWords = "" } = drawer;
      const id = `drawer_${start + at}`;
      const row = Number(insert.run(id, wing, room, sourceFile, text, dateWords).lastInsertRowid);
      if (drawer.vector !== undefined) putVector(ledger, row, drawer.vector);
      rows.push(row);
    });
    for (const file of new Set(drawers.map((drawer) => drawer.sourceFile ?? "")))
      if (file !== "") fileSource(ledger, file);
  })();
  return rows;
}

export function putVector(ledger: Database.Database, row: number, vector: Float32Array): void {
  const { code, scale } = quantize(vector);
  ledger.prepare("INSERT OR REPLACE INTO vector VALUES (?, ?)").run(row, bytesOf(vector));
  ledger.prepare("INSERT OR REPLACE INTO vector_code VALUES (?, ?, ?)").run(row, bytesOf(code), scale);
}

function fileSource(ledger: Database.Database, sourceFile: string): void {
  const texts = ledger.prepare("SELECT text FROM drawer WHERE source_file = ? ORDER BY row").pluck().all(sourceFile);
  const { row } = ledger
    .prepare("INSERT INTO source(source_file, wing, drawers) VALUES (?, '', ?) RETURNING row")
    .get(sourceFile, texts.length) as { row: number };
  ledger.prepare("INSERT INTO source_fts(rowid, text) VALUES (?, ?)").run(row, texts.join("\n"));
}

function lastRow(ledger: Database.Database): number {
  return Number(ledger.prepare("SELECT coalesce(max(row), 0) FROM drawer").pluck().get());
}

function bytesOf(array: Float32Array | Int8Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
