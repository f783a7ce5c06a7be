/** Loads the codes of all drawers into memory. */
import type Database from "better-sqlite3";
import { isNumbers, readColumn } from "../../ledger/json-column.ts";
import type { CodeMemory } from "./code-memory.ts";

/** Number of codes per statement. A buffer for each code would cost more than the reading itself. */
const LOAD_ROWS = 1024;

/** Loads a table's codes in one transaction. Returns the row of the last code; 0 for an empty table. */
export function loadCodes(ledger: Database.Database, table: "vector_code" | "static_code", codes: CodeMemory): number {
  // `group_concat` joins the codes byte for byte, but as a text. The cast makes a blob of the text, because no SQL function joins blobs.
  const page = ledger
    .prepare(
      `SELECT json_group_array(row), CAST(group_concat(code, '') AS BLOB), json_group_array(scale)
       FROM (SELECT row, code, scale FROM ${table} WHERE row > ? ORDER BY row LIMIT ${LOAD_ROWS})`,
    )
    .raw();
  return ledger.transaction(() => {
    const placeOf = readPlaces(ledger);
    for (let last = 0; ;) {
      const [rowList, bytes, scaleList] = page.get(last) as [string, Buffer | null, string];
      if (bytes === null) return last;
      const rows = readColumn(`${table}.row`, rowList, isNumbers);
      const scales = readColumn(`${table}.scale`, scaleList, isNumbers);
      rows.forEach((row, at) => {
        const place = placeOf(row);
        const code = bytes.subarray(at * codes.dimensions, (at + 1) * codes.dimensions);
        if (place !== undefined) codes.put(row, place, code, scales[at] as number);
      });
      last = rows.at(-1) as number;
    }
  })();
}

/** Returns a function that gives a row's wing and room. The query groups rows by wing and room, so that JavaScript gets few strings. */
function readPlaces(ledger: Database.Database): (row: number) => { wing: string; room: string } | undefined {
  const byPlace = ledger.prepare("SELECT wing, room, json_group_array(row) FROM drawer GROUP BY wing, room").raw();
  const last = ledger.prepare<[], number>("SELECT coalesce(max(row), 0) FROM drawer").pluck().get() ?? 0;
  const places: { wing: string; room: string }[] = [];
  /** Position in `places` plus 1; 0 if the row has no drawer. */
  const placeAt = new Int32Array(last + 1);
  for (const [wing, room, rows] of byPlace.all() as [string, string, string][]) {
    const at = places.push({ wing, room });
    for (const row of readColumn("drawer.row", rows, isNumbers)) placeAt[row] = at;
  }
  return (row) => places[(placeAt[row] ?? 0) - 1];
}
