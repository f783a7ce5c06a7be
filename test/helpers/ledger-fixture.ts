/** Makes a small ledger file for the tests of the search threads. Inserts rows into the real tables without the writer. */
import Database from "better-sqlite3";
import { quantize } from "../../src/base/quantize.ts";
import { SCHEMA } from "../../src/memory/ledger/schema/schema.ts";
import type { DrawerFilter } from "../../src/memory/port/drawer.ts";

export type FixtureDrawer = {
  text: string;
  wing?: string;
  room?: string;
  sourceFile?: string;
  dateWords?: string;
  filedAt?: string;
  vector?: Float32Array;
};

export function createLedger(file: string): Database.Database {
  const ledger = new Database(file);
  ledger.pragma("journal_mode = WAL");
  ledger.exec(SCHEMA);
  return ledger;
}

/** Inserts drawers and returns their row numbers. Also fills `source` and `source_fts`, as the real writer does later. */
export function insertDrawers(ledger: Database.Database, drawers: readonly FixtureDrawer[]): number[] {
  const insert = ledger.prepare(
    "INSERT INTO drawer(id, wing, room, source_file, text, date_words, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const insertWords = ledger.prepare("INSERT INTO drawer_fts (rowid, text, date_words) VALUES (?, ?, ?)");
  const rows: number[] = [];
  ledger.transaction(() => {
    const start = lastRow(ledger);
    drawers.forEach((drawer, at) => {
      const { wing = "wing", room = "room", sourceFile = "", text, dateWords = "" } = drawer;
      const id = `drawer_${start + at}`;
      const metadata = JSON.stringify(drawer.filedAt === undefined ? {} : { filed_at: drawer.filedAt });
      const row = Number(insert.run(id, wing, room, sourceFile, text, dateWords, metadata).lastInsertRowid);
      insertWords.run(row, text, dateWords);
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
    .prepare("INSERT INTO source (source_file, wing, mtime, sha256, drawers) VALUES (?, '', 0, '', ?) RETURNING row")
    .get(sourceFile, texts.length) as { row: number };
  ledger.prepare("INSERT INTO source_fts(rowid, text) VALUES (?, ?)").run(row, texts.join("\n"));
}

function lastRow(ledger: Database.Database): number {
  return Number(ledger.prepare("SELECT coalesce(max(row), 0) FROM drawer").pluck().get());
}

function bytesOf(array: Float32Array | Int8Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

/** Spreads drawers over several wings, rooms, sources and days, some without a date. Each of MIXED_FILTERS selects some of them. */
export function mixedDrawers<T extends { text: string }>(drawers: readonly T[]): (T & FixtureDrawer)[] {
  return drawers.map((drawer, at) => ({
    ...drawer,
    wing: `w${at % 3}`,
    room: `r${at % 7}`,
    sourceFile: at % 5 === 0 ? `/s${at % 4}.md` : "",
    ...(at % 11 !== 0 && { filedAt: `2026-01-${String(1 + (at % 28)).padStart(2, "0")}T10:00:00` }),
  }));
}

export const MIXED_FILTERS: readonly DrawerFilter[] = [
  { wing: "w1" },
  { room: "r3" },
  { wing: "w2", room: "r5" },
  { wing: "absent" },
  { sourceFile: "/s2.md" },
  { sourceFile: "/s2.md", wing: "w0" },
  { since: "2026-01-20" },
  { before: "2026-01-03" },
  { since: "2026-01-10", before: "2026-01-12" },
  { since: "2026-01-10", before: "2026-01-24", wing: "w1" },
  { since: "2026-01-05", room: "r0" },
  { since: "2027-01-01" },
];

export function passes(drawer: FixtureDrawer, { wing, room, sourceFile, since, before }: DrawerFilter): boolean {
  const { filedAt } = drawer;
  return (
    (wing === undefined || drawer.wing === wing) &&
    (room === undefined || drawer.room === room) &&
    (sourceFile === undefined || drawer.sourceFile === sourceFile) &&
    (since === undefined || (filedAt !== undefined && filedAt >= since)) &&
    (before === undefined || (filedAt !== undefined && filedAt < before))
  );
}
