/**
 * Finds sources of a place by the end of their names, or by a part. Reads the names of all sources from an index, and of the drawers
 * only whether a source has one in the place. Used by reader.ts.
 */
import type { PlaceFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { condition } from "./drawer-filter.ts";

/** Letters that a misspelled name is expected to begin with. */
const START = 3;
/** Letters of a file's name that are looked for in other names. */
const PART_MAX = 64;
/** Most names with such a part that are read: many thousands of files may begin alike. */
const ALIKE_MAX = 500;

/** A source that was filed in the last moments is not in `source` yet. */
const ENDING = `SELECT source_file AS name FROM source WHERE source_file LIKE ? OR source_file LIKE ?
  UNION SELECT source_file FROM source_dirty WHERE source_file LIKE ? OR source_file LIKE ?`;

/**
 * Returns sources whose names end with this path, but for case and separators; if there are none, those whose file names begin
 * alike or have the file's name as a part.
 */
export function sourcesLike(ledger: LedgerDatabase, path: string, place: PlaceFilter, limit: number): string[] {
  const { where, values } = condition(place);
  const isHere = `EXISTS (SELECT 1 FROM drawer ${where === "" ? "WHERE" : `${where} AND`} source_file = name AND source_file <> '')`;
  const find = (one: string, other: string, among: number): string[] =>
    ledger
      .prepare<(string | number)[], string>(`SELECT name FROM (${ENDING} LIMIT ?) WHERE ${isHere} LIMIT ?`)
      .pluck()
      .all(one, other, one, other, among, ...values, limit);
  const end = pattern(path).replace(/^\/+/, "");
  const ending = find(end, `%/${end}`, -1);
  if (ending.length > 0) return ending;
  const file = path.slice(path.lastIndexOf("/") + 1);
  const start = file.slice(0, PART_MAX).replace(/[%\s-]/g, "_");
  return find(`%/${start.slice(0, START)}%`, `%${start.replace(/(?<=.)\.[^.]*$/, "")}%`, ALIKE_MAX);
}

/** Makes a pattern for LIKE. LIKE ignores case only in ASCII, so every other character becomes a wildcard. */
function pattern(text: string): string {
  return text.replace(/[^A-Za-z0-9./]/gu, "_");
}
