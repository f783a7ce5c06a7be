/** Reads statistics of one FTS5 table from %_data and %_docsize, which are part of FTS5's stable file format (fts5.c, "Data model"). */
import type { Database } from "better-sqlite3";
import type { Scored } from "../../port/search.ts";

/** Id of the record with the number of documents and the number of tokens in each column. */
const AVERAGES_ID = 1;
const KEPT_FREQUENCIES_MAX = 20_000;
/** Share by which the table may grow or shrink before a cached count is read again. */
const DRIFT_MAX = 0.01;
/** In a smaller table, every commit of another connection clears the cache. In a larger table, cached counts stay valid within `DRIFT_MAX`. */
const DRIFT_FROM_DOCUMENTS = 5_000;

export type TableSize = { documents: number; averageLength: number };

export class FtsTable {
  readonly #averages;
  readonly #term;
  readonly #occurrences;
  readonly #phrase;
  readonly #version;
  readonly #kept = new Map<string, { holding: number; documents: number }>();
  #keptVersion: unknown;
  #keptSize: TableSize = { documents: 0, averageLength: 1 };

  constructor(ledger: Database, name: "drawer_fts" | "source_fts" | "form_fts") {
    ledger.exec(`CREATE VIRTUAL TABLE temp.${name}_terms USING fts5vocab('main', '${name}', 'row')`);
    this.#averages = ledger.prepare(`SELECT block FROM ${name}_data WHERE id = ${AVERAGES_ID}`).pluck();
    this.#term = ledger.prepare(`SELECT doc FROM temp.${name}_terms WHERE term = ?`).pluck();
    this.#occurrences = ledger.prepare(`SELECT cnt FROM temp.${name}_terms WHERE term = ?`).pluck();
    this.#phrase = ledger.prepare(`SELECT count(*) FROM ${name} WHERE ${name} MATCH ?`).pluck();
    this.#version = ledger.prepare("PRAGMA data_version").pluck();
  }

  size(): TableSize {
    const version = this.#version.get();
    if (version === this.#keptVersion) return this.#keptSize;
    const [documents = 0, ...columns] = decodeVarints((this.#averages.get() as Buffer | undefined) ?? Buffer.alloc(0));
    if (documents < DRIFT_FROM_DOCUMENTS) this.#kept.clear();
    this.#keptVersion = version;
    this.#keptSize = { documents, averageLength: documents === 0 ? 1 : Math.max(1, sum(columns)) / documents };
    return this.#keptSize;
  }

  termFrequency(term: string, documents: number): number {
    return this.#keep(term, documents, () => Number(this.#term.get(term) ?? 0));
  }

  /** Returns how often a term occurs in all documents. */
  occurrences(term: string, documents: number): number {
    return this.#keep(`\0${term}`, documents, () => Number(this.#occurrences.get(term) ?? 0));
  }

  phraseFrequency(match: string, documents: number): number {
    return this.#keep(match, documents, () => Number(this.#phrase.get(match)));
  }

  #keep(key: string, documents: number, count: () => number): number {
    const kept = this.#kept.get(key);
    if (kept !== undefined && Math.abs(kept.documents - documents) <= documents * DRIFT_MAX) return kept.holding;
    const holding = count();
    this.#kept.delete(key);
    if (this.#kept.size >= KEPT_FREQUENCIES_MAX) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, { holding, documents });
    return holding;
  }
}

/** Prepares a ranking by BM25, of all rows or of the rows with a 1 in `allowed`. Without the `+`, SQLite calls FTS5 for each row. */
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

/** Returns the number of tokens of a document in all columns. `sizes`: hex(sz) of its row in %_docsize. better-sqlite3 reads text faster. */
export function documentLength(sizes: string): number {
  return sum(decodeVarints(Buffer.from(sizes, "hex")));
}

/** Decodes SQLite's variable-length integers: big-endian, 7 bits per byte. Counts are far too small for the 9-byte form. */
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

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
