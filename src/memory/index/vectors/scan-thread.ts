/** Worker thread that scans vectors. It has all codes in memory and reads only the best rows' vectors from the ledger. */
import { workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { RowSets } from "../../ledger/read/row-sets.ts";
import { quantize } from "../../../base/quantize.ts";
import { serveThread } from "../../../base/thread.ts";
import type { DrawerFilter } from "../../port/drawer.ts";
import type { Changes } from "../../port/ledger.ts";
import { dotProduct, type Scored } from "../../port/search.ts";
import { CodeMemory } from "./code-memory.ts";
import { loadCodes } from "./load-codes.ts";
import { DIMENSIONS } from "./scan-wasm.ts";

export type ScanMethods = {
  around(vector: Float32Array, filter: DrawerFilter, limit: number): number[];
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): Scored[];
  similarity(vector: Float32Array, rows: readonly number[]): number[];
  refresh(changes: Pick<Changes, "written" | "removed">): void;
};

/** Number of rows that the first pass keeps for each wanted row, because near-duplicates are dropped later. */
const FIRST_PASS_FACTOR = 4;
const FIRST_PASS_MIN = 400;

type CodeRow = { row: number; wing: string; room: string; code: Buffer | null; scale: number };

await serveThread<ScanMethods>(() => {
  const ledger = new Database(workerData as string, { readonly: true, fileMustExist: true });
  const codes = new CodeMemory(DIMENSIONS);
  loadCodes(ledger, "vector_code", codes);
  const sets = new RowSets(ledger);

  const readVectors = ledger
    .prepare("SELECT row, vector FROM vector WHERE row IN (SELECT value FROM json_each(?))")
    .raw();
  const readCodes = ledger.prepare(
    `SELECT drawer.row, wing, room, code, scale FROM drawer LEFT JOIN vector_code ON vector_code.row = drawer.row
     WHERE drawer.row IN (SELECT value FROM json_each(?))`,
  );

  /** Returns the exact dot product of each row's vector with `vector`. Leaves out rows without a vector. */
  function dotRows(vector: Float32Array, rows: readonly number[]): Scored[] {
    const found = readVectors.all(JSON.stringify(rows)) as [number, Buffer][];
    return found.map(([row, bytes]) => ({ row, score: dotProduct(vector, toFloats(bytes)) }));
  }

  function around(vector: Float32Array, filter: DrawerFilter, limit: number): number[] {
    const query = quantize(vector);
    const keep = Math.max(FIRST_PASS_MIN, limit * FIRST_PASS_FACTOR);
    const near = codes.scan(query, filter, keep, sets.beyondPlaces(filter));
    // A row cannot be a result if its score is lower than the last wanted row's by more than both error bounds.
    const scoreMin = (near[limit - 1]?.score ?? Number.NEGATIVE_INFINITY) - 2 * codes.errorMax(query);
    return near.filter((one) => one.score >= scoreMin).map(({ row }) => row);
  }

  return {
    around,
    nearest(vector, filter, limit) {
      const exact = dotRows(vector, around(vector, filter, limit));
      return exact.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, limit);
    },
    similarity(vector, rows) {
      const exact = new Map(dotRows(vector, rows).map(({ row, score }) => [row, score]));
      return rows.map((row) => exact.get(row) ?? Number.NaN);
    },
    refresh({ written, removed }) {
      for (const row of removed) codes.remove(row);
      const missing = new Set(written);
      for (const { row, wing, room, code, scale } of readCodes.all(JSON.stringify(written)) as CodeRow[]) {
        if (code === null) continue;
        codes.put(row, { wing, room }, code, scale);
        missing.delete(row);
      }
      // A rewritten drawer has no vector yet, and its old code does not fit the new text.
      for (const row of missing) codes.remove(row);
    },
  };
});

function toFloats(bytes: Buffer): Float32Array {
  const aligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0 ? bytes : new Uint8Array(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, DIMENSIONS);
}
