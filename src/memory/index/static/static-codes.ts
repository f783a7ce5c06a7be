/** Keeps all static vectors as int8 codes in memory. Each question first reads new drawers, and changed codes from `static_renewed`. */
import type Database from "better-sqlite3";
import { quantize } from "../../../base/quantize.ts";
import { lazyThread, type Thread, threadFile } from "../../../base/thread.ts";
import { RowSets } from "../../ledger/read/row-sets.ts";
import type { DrawerFilter } from "../../port/drawer.ts";
import { CodeMemory } from "../vectors/code-memory.ts";
import { loadCodes } from "../vectors/load-codes.ts";
import { STATIC_DIMENSIONS } from "./static-table.ts";

/** A code. `seq`: its position in the order in which a statement reads codes. */
type CodeRow = { seq: number; row: number; code: Buffer; scale: number };
type CodesAfter = Database.Statement<[seq: number], CodeRow>;
type Place = { wing: string; room: string };

const PAGE = 4_096;
/** From this row number on the codes have their own thread. A thread takes about 40 MiB and saves little time in a smaller ledger. */
const THREAD_FROM = 200_000;

export type StaticMethods = Pick<StaticCodes, "nearest" | "cosines">;
export type StaticScan = Pick<Thread<StaticMethods>, "call">;

/** Opens the codes on this thread, or in a large ledger on their own thread. `sets`: the caller's cache of the rows that pass a filter. */
export function openStaticScan(ledger: Database.Database, sets: RowSets): StaticScan {
  const last = ledger.prepare<[], number>("SELECT coalesce(max(row), 0) FROM drawer").pluck().get() ?? 0;
  if (last >= THREAD_FROM) return lazyThread<StaticMethods>(threadFile(import.meta.url, "static-thread"), ledger.name);
  const codes = new StaticCodes(ledger, sets);
  return { call: async (method, ...args) => Reflect.apply(codes[method], codes, args) as never };
}

export class StaticCodes {
  readonly #codes = new CodeMemory(STATIC_DIMENSIONS);
  readonly #ledger: Database.Database;
  readonly #sets: RowSets;
  readonly #newer: CodesAfter;
  readonly #renewed: CodesAfter;
  readonly #placeOf;
  readonly #isThere;
  /** The last row that was read; undefined before the first question. */
  #row: number | undefined;
  #renewedTo: number;

  constructor(ledger: Database.Database, sets = new RowSets(ledger)) {
    this.#ledger = ledger;
    this.#sets = sets;
    this.#newer = ledger.prepare(
      `SELECT row AS seq, row, code, scale FROM static_code WHERE row > ? ORDER BY row LIMIT ${PAGE}`,
    );
    this.#renewed = ledger.prepare(
      `SELECT seq, row, code, scale FROM static_renewed JOIN static_code USING (row) WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`,
    );
    this.#renewedTo = ledger.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM static_renewed").pluck().get() ?? 0;
    this.#placeOf = ledger.prepare<[number], Place>("SELECT wing, room FROM drawer WHERE row = ?");
    this.#isThere = ledger
      .prepare<[string], number>("SELECT row FROM drawer WHERE row IN (SELECT value FROM json_each(?))")
      .pluck();
  }

  /** Returns the `limit` nearest rows that pass the filter, best first. `vector` has length 1. Drops codes of drawers that were deleted. */
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): number[] {
    this.#refresh();
    const allowed = this.#sets.beyondPlaces(filter);
    const query = quantize(vector);
    for (;;) {
      const rows = this.#codes.scan(query, filter, limit, allowed).map(({ row }) => row);
      const there = new Set(this.#isThere.all(JSON.stringify(rows)));
      if (there.size === rows.length) return rows;
      for (const row of rows) if (!there.has(row)) this.#codes.remove(row);
    }
  }

  /** Returns the cosines in the order of `rows`; NaN for a row without a code. `vector` has length 1. */
  cosines(vector: Float32Array, rows: readonly number[]): number[] {
    this.#refresh();
    return this.#codes.products(quantize(vector), rows);
  }

  #refresh(): void {
    this.#row ??= loadCodes(this.#ledger, "static_code", this.#codes);
    this.#row = this.#read(this.#newer, this.#row);
    this.#renewedTo = this.#read(this.#renewed, this.#renewedTo);
  }

  /** Reads the codes after `from`, page by page. Returns the `seq` of the last code. */
  #read(codes: CodesAfter, from: number): number {
    for (let last = from; ;) {
      const page = codes.all(last);
      for (const { row, code, scale } of page) {
        const place = this.#placeOf.get(row);
        if (place !== undefined) this.#codes.put(row, place, code, scale);
      }
      last = page.at(-1)?.seq ?? last;
      if (page.length < PAGE) return last;
    }
  }
}
