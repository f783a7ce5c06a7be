/** Reads the wing and room of every drawer. */
import type Database from "better-sqlite3";
import { isNumbers, readColumn } from "../../ledger/json-column.ts";

/** Returns the place of each row. The query returns one list of rows per place, because far fewer strings then cross into JavaScript. */
export function loadPlaces(ledger: Database.Database): Map<number, { wing: string; room: string }> {
  const byPlace = ledger.prepare("SELECT wing, room, json_group_array(row) FROM drawer GROUP BY wing, room").raw();
  const places = new Map<number, { wing: string; room: string }>();
  for (const [wing, room, rows] of byPlace.all() as [string, string, string][]) {
    const place = { wing, room };
    for (const row of readColumn("drawer.row", rows, isNumbers)) places.set(row, place);
  }
  return places;
}
