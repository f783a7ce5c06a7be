/** Answers a question by FTS5 alone, or by an exact scan of the static vectors alone, as references for searches. */
import Database from "better-sqlite3";
import { StaticCodes } from "../../src/memory/index/static/static-codes.ts";
import { staticTable } from "../../src/memory/index/static/static-table.ts";

const CANDIDATES = 100;
/** Page cache of the connection, KiB. */
const CACHE_KIB = 64 * 1024;

export type RawLists = Disposable & {
  /** Ranks all drawers that contain a word of the question by BM25, and returns the best 100. */
  words: (question: string) => unknown;
  /** Compares the question's static vector with all drawers', and returns the nearest 100. */
  scan: (question: string) => unknown;
};

/** Opens the lists over a ledger. The first scan reads all static vectors. */
export function openRawLists(ledgerFile: string): RawLists {
  const ledger = new Database(ledgerFile, { readonly: true });
  ledger.pragma(`cache_size = -${CACHE_KIB}`);
  const ranked = ledger.prepare(
    `SELECT rowid FROM drawer_fts WHERE drawer_fts MATCH ? ORDER BY bm25(drawer_fts) LIMIT ${CANDIDATES}`,
  );
  const codes = new StaticCodes(ledger);
  return {
    words: (question) => ranked.all(anyOf(question)),
    scan: (question) => codes.nearest(staticTable().vectorOf(question) ?? new Float32Array(256), {}, CANDIDATES),
    [Symbol.dispose]: () => ledger.close(),
  };
}

/** Returns the MATCH string for drawers with any of the words. */
export function anyOf(question: string): string {
  return question
    .split(" ")
    .map((word) => `"${word}"`)
    .join(" OR ");
}
