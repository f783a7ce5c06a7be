/**
 * Reads statistics of one FTS5 table: number of documents, their lengths, and how many documents contain a term or phrase. Used by
 * lexical-search.ts, once for each of its three tables. Source: fts5.c, "Data model": rows of %_data and %_docsize; they are part of the
 * file format and therefore stable.
 */
import type { Database } from "better-sqlite3";
import type { Scored } from "../../port/search.ts";

/** Id of the record with the number of rows and the tokens of each column. */
const AVERAGES_ID = 1;
const KEPT_FREQUENCIES_MAX = 20_000;
/** A cached count stays valid until the table has grown or shrunk by this share. */
const DRIFT_MAX = 0.01;
/** Number of documents from which counts are cached. In a smaller table counting is quick. */
const KEEP_FROM_DOCUMENTS = 5_000;

export type TableSize = { documents: number; averageLength: number };

export class FtsTable {
  readonly #averages;
  readonly #term;
  readonly #phrase;
  readonly #kept = new Map<string, { holding: number; documents: number }>();

  constructor(ledger: Database, name: "drawer_fts" | "source_fts" | "form_fts") {
    ledger.exec(`CREATE VIRTUAL TABLE temp.${name}_terms USING fts5vocab('main', '${name}', 'row')`);
    this.#averages = ledger.prepare(`SELECT block FROM ${name}_data WHERE id = ${AVERAGES_ID}`).pluck();
    this.#term = ledger.prepare(`SELECT doc FROM temp.${name}_terms WHERE term = ?`).pluck();
    this.#phrase = ledger.prepare(`SELECT count(*) FROM ${name} WHERE ${name} MATCH ?`).pluck();
  }

  size(): TableSize {
    const [documents = 0, ...columns] = decodeVarints((this.#averages.get() as Buffer | undefined) ?? Buffer.alloc(0));
    return { documents, averageLength: documents === 0 ? 1 : Math.max(1, sum(columns)) / documents };
  }

  /** `term` is a stem. */
  termFrequency(term: string, documents: number): number {
    return this.#keep(term, documents, () => Number(this.#term.get(term) ?? 0));
  }

  /** `match` is a MATCH string. */
  phraseFrequency(match: string, documents: number): number {
    return this.#keep(match, documents, () => Number(this.#phrase.get(match)));
  }

  #keep(key: string, documents: number, count: () => number): number {
    const kept = this.#kept.get(key);
    if (kept !== undefined && Math.abs(kept.documents - documents) <= documents * DRIFT_MAX) return kept.holding;
    const holding = count();
    if (documents < KEEP_FROM_DOCUMENTS) return holding;
    this.#kept.delete(key);
    if (this.#kept.size >= KEPT_FREQUENCIES_MAX) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, { holding, documents });
    return holding;
  }
}

/**
 * Ranks by FTS5's own BM25, all rows or those that have a 1 in `allowed`. SQLite looks each hit up in those bytes; the
 * + keeps it from asking FTS5 once for each row.
 */
export function prepareRanking(
  ledger: Database,
  table: "drawer_fts" | "form_fts",
): (match: string, limit: number, allowed?: Uint8Array) => Scored[] {
  const prepare = (among: string) =>
    ledger.prepare(
      `SELECT rowid AS row, -bm25(${table}) AS score FROM ${table} WHERE ${table} MATCH ? ${among}
       ORDER BY bm25(${table}), rowid LIMIT ?`,
    );
  const anywhere = prepare("");
  const amongRows = prepare("AND substr(?, +rowid + 1, 1) = x'01'");
  return (match, limit, allowed) =>
    (allowed === undefined ? anywhere.all(match, limit) : amongRows.all(match, allowed, limit)) as Scored[];
}

/** Tokens of one document in all columns; `sizes` is its row in %_docsize. */
export function documentLength(sizes: Uint8Array): number {
  return sum(decodeVarints(sizes));
}

/** SQLite's variable-length integers, big end first, 7 bits a byte; counts here stay far below the 9-byte form. */
export function decodeVarints(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    numbers.push(value);
    value = 0;
  }
  return numbers;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
