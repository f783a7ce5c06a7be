/** Wing and room of every drawer, for the memories of codes. */
import type Database from "better-sqlite3";
import { isNumbers, readColumn } from "../../ledger/json-column.ts";

/** One list of rows for each place: far fewer strings cross into JavaScript than with one line for each row. */
export function loadPlaces(ledger: Database.Database): Map<number, { wing: string; room: string }> {
  const byPlace = ledger.prepare("SELECT wing, room, json_group_array(row) FROM drawer GROUP BY wing, room").raw();
  const places = new Map<number, { wing: string; room: string }>();
  for (const [wing, room, rows] of byPlace.all() as [string, string, string][]) {
    const place = { wing, room };
    for (const row of readColumn("drawer.row", rows, isNumbers)) places.set(row, place);
  }
  return places;
}
