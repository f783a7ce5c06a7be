/**
 * Which rows one page of a list has, and how many there are in all, found in indexes alone: the drawers themselves, about three
 * to a page of the file, are read only where they are shown. Used by reader.ts.
 */
import type { DrawerFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { type Condition, isWindow, windowIndex } from "./drawer-filter.ts";

type Place = { wing: string; room: string; drawers: number };
type Page = { rows: number[]; total: number };

/** The first rows of several places are merged while that reads at most so much of the places. */
const MERGED_SHARE = 1 / 4;

/** Rows in their order. */
export function drawerPage(
  database: LedgerDatabase,
  filter: DrawerFilter,
  { where, values }: Condition,
  limit: number,
  offset: number,
): Page {
  const rowsOf = (sql: string, ...bound: (string | number)[]): number[] =>
    database
      .prepare<(string | number)[], number>(sql)
      .pluck()
      .all(...bound);
  if (filter.sourceFile !== undefined || isWindow(filter)) {
    // A source has few drawers, and of a window only the index is read: once, for page and total.
    const [all = "[]"] = database
      .prepare<string[], string>(`SELECT json_group_array(row) FROM drawer ${windowIndex(database, filter)} ${where}`)
      .pluck()
      .all(...values);
    const rows = (JSON.parse(all) as number[]).sort((a, b) => a - b);
    return { rows: rows.slice(offset, offset + limit), total: rows.length };
  }
  const places = database.prepare<string[], Place>(`SELECT wing, room, drawers FROM place ${where}`).all(...values);
  const total = places.reduce((sum, { drawers }) => sum + drawers, 0);
  const page = (rows: number[]): Page => ({ rows, total });
  if (offset >= total) return page([]);

  // FTS5 keeps a short record of each drawer in the order of the rows: skipping there reads a hundredth of the bytes.
  if (where === "")
    return page(rowsOf("SELECT id FROM drawer_fts_docsize ORDER BY id LIMIT ? OFFSET ?", limit, offset));
  const inPlace = "SELECT row FROM drawer WHERE wing = ? AND room = ? ORDER BY row LIMIT ? OFFSET ?";
  const [first, ...others] = places;
  if (first !== undefined && others.length === 0) return page(rowsOf(inPlace, first.wing, first.room, limit, offset));
  // The index has each place in the order of the rows, several places together have to be sorted.
  const wanted = offset + limit;
  if (places.length * wanted > total * MERGED_SHARE)
    return page(rowsOf(`SELECT row FROM drawer ${where} ORDER BY row LIMIT ? OFFSET ?`, ...values, limit, offset));
  const merged = places.flatMap(({ wing, room }) => rowsOf(inPlace, wing, room, wanted, 0));
  return page(merged.sort((a, b) => a - b).slice(offset, wanted));
}
