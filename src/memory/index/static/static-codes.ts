/**
 * Keeps the static vectors of all drawers as int8 codes in memory. Before each question it reads new commits: new drawers by their row, and
 * changed codes from the table `static_renewed`. It removes a deleted drawer's code when a search finds it. Used by the lexical search, on
 * its thread.
 */
import type Database from "better-sqlite3";
import { quantize } from "../../../base/quantize.ts";
import type { PlaceFilter } from "../../port/drawer.ts";
import { CodeMemory } from "../vectors/code-memory.ts";
import { loadPlaces } from "../vectors/places.ts";
import { STATIC_DIMENSIONS } from "./static-table.ts";

type CodeRow = { row: number; code: Buffer; scale: number };
type RenewedRow = CodeRow & { seq: number };
type Place = { wing: string; room: string };

/** Most codes read at once. A full page also means that all places are read at once. */
const PAGE = 4_096;

/** Concurrency: belongs to one thread. */
export class StaticCodes {
  readonly #codes = new CodeMemory(STATIC_DIMENSIONS);
  readonly #ledger: Database.Database;
  readonly #newer;
  readonly #renewed;
  readonly #placeOf;
  readonly #isThere;
  #row = 0;
  #renewedTo: number;

  constructor(ledger: Database.Database) {
    this.#ledger = ledger;
    this.#newer = ledger.prepare<[number], CodeRow>(
      `SELECT row, code, scale FROM static_code WHERE row > ? ORDER BY row LIMIT ${PAGE}`,
    );
    this.#renewed = ledger.prepare<[number], RenewedRow>(
      `SELECT seq, row, code, scale FROM static_renewed JOIN static_code USING (row) WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`,
    );
    this.#renewedTo = ledger.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM static_renewed").pluck().get() ?? 0;
    this.#placeOf = ledger.prepare<[number], Place>("SELECT wing, room FROM drawer WHERE row = ?");
    this.#isThere = ledger
      .prepare<[string], number>("SELECT row FROM drawer WHERE row IN (SELECT value FROM json_each(?))")
      .pluck();
  }

  /**
   * Returns the `limit` rows nearest to a unit vector that pass the filter, best first. `allowed` has a 1 for each row that may be
   * returned.
   */
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

  /** Returns the cosine of each row with a unit vector, in the given order; NaN for a row without a code. */
  cosines(vector: Float32Array, rows: readonly number[]): number[] {
    this.#refresh();
    return this.#codes.products(quantize(vector), rows);
  }

  #refresh(): void {
    let places: Map<number, Place> | undefined;
    for (let page: CodeRow[] = []; ;) {
      page = this.#newer.all(this.#row);
      if (page.length === PAGE) places ??= loadPlaces(this.#ledger);
      for (const one of page) this.#put(one, places === undefined ? this.#placeOf.get(one.row) : places.get(one.row));
      this.#row = page.at(-1)?.row ?? this.#row;
      if (page.length < PAGE) break;
    }
    for (let page: RenewedRow[] = []; ;) {
      page = this.#renewed.all(this.#renewedTo);
      for (const one of page) this.#put(one, this.#placeOf.get(one.row));
      this.#renewedTo = page.at(-1)?.seq ?? this.#renewedTo;
      if (page.length < PAGE) return;
    }
  }

  #put({ row, code, scale }: CodeRow, place: Place | undefined): void {
    if (place !== undefined) this.#codes.put(row, place, code, scale);
  }
}
