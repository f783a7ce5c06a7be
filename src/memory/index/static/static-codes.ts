/**
 * The static vectors of all drawers as int8 codes in memory, brought up to the ledger's committed state before each question:
 * a code that is written or replaced gets a higher `seq`. A deleted drawer's code is dropped when it turns up. Used by the
 * search by words, on its thread.
 */
import type Database from "better-sqlite3";
import { quantize } from "../../../base/quantize.ts";
import type { PlaceFilter } from "../../port/drawer.ts";
import { CodeMemory } from "../vectors/code-memory.ts";
import { loadPlaces } from "../vectors/places.ts";
import { STATIC_DIMENSIONS } from "./static-table.ts";

type CodeRow = { seq: number; row: number; code: Buffer; scale: number };
type Place = { wing: string; room: string };

/** Codes read at once; where there are that many, all places are, too. */
const PAGE = 4_096;

/** Concurrency: belongs to one thread. */
export class StaticCodes {
  readonly #codes = new CodeMemory(STATIC_DIMENSIONS);
  readonly #ledger: Database.Database;
  readonly #newer;
  readonly #placeOf;
  readonly #isThere;
  #seq = 0;

  constructor(ledger: Database.Database) {
    this.#ledger = ledger;
    this.#newer = ledger.prepare<[number], CodeRow>(
      `SELECT * FROM static_code WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`,
    );
    this.#placeOf = ledger.prepare<[number], Place>("SELECT wing, room FROM drawer WHERE row = ?");
    this.#isThere = ledger
      .prepare<[string], number>("SELECT row FROM drawer WHERE row IN (SELECT value FROM json_each(?))")
      .pluck();
  }

  /** The `limit` rows nearest to a unit vector under the filter, best first; `allowed` has a 1 for each that may be among them. */
  nearest(vector: Float32Array, filter: PlaceFilter, limit: number, allowed?: Uint8Array): number[] {
    this.#refresh();
    const query = quantize(vector);
    for (;;) {
      const rows = this.#codes.scan(query, filter, limit, allowed).map(({ row }) => row);
      const there = new Set(this.#isThere.all(JSON.stringify(rows)));
      if (there.size === rows.length) return rows;
      for (const row of rows) if (!there.has(row)) this.#codes.remove(row);
    }
  }

  /** Cosine of each given row with a unit vector, NaN where it has no code yet. Order as given. */
  cosines(vector: Float32Array, rows: readonly number[]): number[] {
    this.#refresh();
    return this.#codes.products(quantize(vector), rows);
  }

  #refresh(): void {
    let places: Map<number, Place> | undefined;
    for (let page: CodeRow[] = []; ;) {
      page = this.#newer.all(this.#seq);
      if (page.length === PAGE) places ??= loadPlaces(this.#ledger);
      for (const { seq, row, code, scale } of page) {
        this.#seq = seq;
        const place = places === undefined ? this.#placeOf.get(row) : places.get(row);
        if (place !== undefined) this.#codes.put(row, place, code, scale);
      }
      if (page.length < PAGE) return;
    }
  }
}
