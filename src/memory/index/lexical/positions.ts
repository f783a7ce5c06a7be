/** Ranks drawers, and counts words in drawers, by the positions of words in FTS5's index. This is faster than bm25() and reading texts. */
import type { Database } from "better-sqlite3";
import { isNumbers, readColumn } from "../../ledger/json-column.ts";
import type { Scored } from "../../port/search.ts";
import { scoreTerm } from "./bm25.ts";
import { documentLength, type TableSize } from "./fts-table.ts";
import type { Counts } from "./tokens.ts";

/** Positions of one stem in all drawers, ascending. `rows[i]`: the drawer of position i. `offsets[i]`: number of words before it. */
export type Positions = { rows: Int32Array; offsets: Int32Array };

/** Added to the offsets of a drawer's date, so that no pair of words spans its text and its date. */
const DATE_OFFSET = 1e9;
/** Minimum rarity of a word in FTS5's bm25(), which words in more than half of the drawers have. */
const INVERSE_MIN = 1e-6;
/** Maximum number of cached positions, 4 MB; those of the last question may be more. */
const KEPT_MAX = 500_000;

/** Reads positions. They stay cached until the next commit of another connection. */
export class PositionIndex {
  readonly #read;
  readonly #version;
  readonly #lengths: DrawerLengths;
  readonly #kept = new Map<string, Positions>();
  #keptVersion: unknown;
  #keptCount = 0;

  constructor(ledger: Database) {
    ledger.exec("CREATE VIRTUAL TABLE temp.drawer_fts_positions USING fts5vocab('main', 'drawer_fts', 'instance')");
    this.#read = ledger
      .prepare<[string], [rows: string, offsets: string]>(
        `SELECT json_group_array(doc), json_group_array(CASE col WHEN 'text' THEN offset ELSE offset + ${DATE_OFFSET} END)
         FROM temp.drawer_fts_positions WHERE term = ?`,
      )
      .raw();
    this.#version = ledger.prepare("PRAGMA data_version").pluck();
    this.#lengths = new DrawerLengths(ledger);
  }

  /** Returns the positions of each stem. Call it in a transaction, so that no commit comes between its statements. */
  of(stems: readonly string[]): Positions[] {
    const version = this.#version.get();
    if (version !== this.#keptVersion || this.#keptCount > KEPT_MAX) {
      this.#kept.clear();
      this.#keptCount = 0;
    }
    this.#keptVersion = version;
    return stems.map((stem) => this.#kept.get(stem) ?? this.#readStem(stem));
  }

  #readStem(stem: string): Positions {
    const [rows, offsets] = this.#read.get(stem) as [string, string];
    const positions = {
      rows: Int32Array.from(readColumn("drawer_fts.doc", rows, isNumbers)),
      offsets: Int32Array.from(readColumn("drawer_fts.offset", offsets, isNumbers)),
    };
    this.#kept.set(stem, positions);
    this.#keptCount += positions.rows.length;
    return positions;
  }

  /** Ranks rows as FTS5's bm25() does, best first. `allowed` has a 1 at each row that may be returned; if it is missing, all may. */
  rank(
    stems: readonly Positions[],
    { documents, averageLength }: TableSize,
    limit: number,
    allowed?: Uint8Array,
  ): Scored[] {
    const lengths = this.#lengths.read();
    const scores = new Map<number, number>();
    for (const { rows } of stems) {
      const holding = rows.reduce((count, row, at) => (row === rows[at - 1] ? count : count + 1), 0);
      const inverse = Math.max(INVERSE_MIN, Math.log((documents - holding + 0.5) / (holding + 0.5)));
      for (let at = 0; at < rows.length;) {
        const row = rows[at] as number;
        let count = 1;
        while (rows[++at] === row) count++;
        if (allowed !== undefined && allowed[row] !== 1) continue;
        const score = scoreTerm(inverse, count, (lengths[row] ?? 0) / averageLength);
        scores.set(row, (scores.get(row) ?? 0) + score);
      }
    }
    const worst = Float64Array.from(scores.values()).sort().at(-limit) ?? 0;
    return [...scores]
      .flatMap(([row, score]) => (score >= worst ? [{ row, score }] : []))
      .sort((a, b) => b.score - a.score || a.row - b.row)
      .slice(0, limit);
  }
}

/** Keeps the numbers of tokens of all drawers in memory. Like static codes, it reads new drawers, and changed ones from `static_renewed`. */
class DrawerLengths {
  readonly #newer;
  readonly #renewed;
  #lengths = new Int32Array(1);
  #row = 0;
  #renewedTo: number;

  constructor(ledger: Database) {
    this.#newer = ledger.prepare<[number], { row: number; sizes: string }>(
      "SELECT id AS row, hex(sz) AS sizes FROM drawer_fts_docsize WHERE id > ? ORDER BY id",
    );
    this.#renewed = ledger.prepare<[number], { seq: number; row: number; sizes: string }>(
      `SELECT seq, row, hex(sz) AS sizes FROM static_renewed JOIN drawer_fts_docsize ON id = row
       WHERE seq > ? ORDER BY seq`,
    );
    this.#renewedTo = ledger.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM static_renewed").pluck().get() ?? 0;
  }

  /** Reads all changes, then returns the number of tokens of each row. */
  read(): Int32Array {
    for (const { row, sizes } of this.#newer.iterate(this.#row)) {
      this.#put(row, sizes);
      this.#row = row;
    }
    for (const { seq, row, sizes } of this.#renewed.iterate(this.#renewedTo)) {
      this.#put(row, sizes);
      this.#renewedTo = seq;
    }
    return this.#lengths;
  }

  #put(row: number, sizes: string): void {
    if (row >= this.#lengths.length) {
      const larger = new Int32Array(2 * row);
      larger.set(this.#lengths);
      this.#lengths = larger;
    }
    this.#lengths[row] = documentLength(sizes);
  }
}

/** Counts terms, and pairs of successive terms, in rows. `terms[i]`: positions of the stems of term i. `pairs`: indexes into `terms`. */
export function countTerms(
  terms: readonly (readonly Positions[])[],
  pairs: readonly (readonly [number, number])[],
  rows: readonly number[],
): Map<number, Counts> {
  const offsetsIn = new Map(rows.map((row) => [row, terms.map((): number[] => [])]));
  terms.forEach((stems, term) => {
    for (const stem of stems)
      stem.rows.forEach((row, at) => offsetsIn.get(row)?.[term]?.push(stem.offsets[at] as number));
  });
  const successive = (offsets: number[][], [first, second]: readonly [number, number]): number => {
    if (offsets[first]?.length === 0 || offsets[second]?.length === 0) return 0;
    const next = new Set(offsets[first]?.map((offset) => offset + 1));
    return (offsets[second] as number[]).filter((offset) => next.has(offset)).length;
  };
  return new Map(
    [...offsetsIn].map(([row, offsets]) => [
      row,
      { terms: offsets.map(({ length }) => length), pairs: pairs.map((pair) => successive(offsets, pair)) },
    ]),
  );
}
