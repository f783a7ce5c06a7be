/** Finds the rows of one page of a list, and the number of all rows, from indexes. So only the drawers on the page are read. */
import type { DrawerFilter } from "../../port/drawer.ts";
import { isNumbers, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { type Condition, isWindow, windowIndex } from "./drawer-filter.ts";
import { selectRows, selectValues } from "../select.ts";

type Place = { wing: string; room: string; drawers: number };
type Page = { rows: number[]; total: number };

/** Maximum share of the rooms' rows that a merge of the rooms may read. If it would read more, SQLite sorts all rows instead. */
const MERGED_SHARE = 1 / 4;

export function drawerPage(
  database: LedgerDatabase,
  filter: DrawerFilter,
  { where, values }: Condition,
  limit: number,
  offset: number,
): Page {
  const rowsOf = (sql: string, ...bound: (string | number)[]): number[] =>
    selectValues<number>(database, sql, ...bound);
  if (filter.sourceFile !== undefined || isWindow(filter)) {
    // One query reads and counts all rows: a source has few drawers, and an index has the rows of a time window.
    const [all = "[]"] = database
      .prepare<string[], string>(`SELECT json_group_array(row) FROM drawer ${windowIndex(database, filter)} ${where}`)
      .pluck()
      .all(...values);
    const rows = readColumn("drawer.row", all, isNumbers).sort((a, b) => a - b);
    return { rows: rows.slice(offset, offset + limit), total: rows.length };
  }
  const places = selectRows<Place>(database, `SELECT wing, room, drawers FROM place ${where}`, ...values);
  const total = places.reduce((sum, { drawers }) => sum + drawers, 0);
  const page = (rows: number[]): Page => ({ rows, total });
  if (offset >= total) return page([]);

  // Without a filter, skips to the page in a table of FTS5 that has one short record for each drawer, in row order.
  if (where === "")
    return page(rowsOf("SELECT id FROM drawer_fts_docsize ORDER BY id LIMIT ? OFFSET ?", limit, offset));
  const inPlace = "SELECT row FROM drawer WHERE wing = ? AND room = ? ORDER BY row LIMIT ? OFFSET ?";
  const [first, ...others] = places;
  if (first !== undefined && others.length === 0) return page(rowsOf(inPlace, first.wing, first.room, limit, offset));
  // The index has the rows of each room in order, but the rows of several rooms have to be merged or sorted.
  const wanted = offset + limit;
  if (places.length * wanted > total * MERGED_SHARE)
    return page(rowsOf(`SELECT row FROM drawer ${where} ORDER BY row LIMIT ? OFFSET ?`, ...values, limit, offset));
  const merged = places.flatMap(({ wing, room }) => rowsOf(inPlace, wing, room, wanted, 0));
  return page(merged.sort((a, b) => a - b).slice(offset, wanted));
}
