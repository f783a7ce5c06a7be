/** Finds sources in a wing or room by the end or by a part of their names. */
import type { PlaceFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { condition } from "./drawer-filter.ts";

/** Number of first letters that a misspelled name is expected to have right. */
const START = 3;
/** Maximum number of letters of a file's name that are searched for in other names. */
const PART_MAX = 64;
/** Maximum number of similar names to read. Many thousands of files may begin in the same way. */
const ALIKE_MAX = 500;

/** SQL for the sources that match one of two patterns. A source that was just filed is only in `source_dirty`. */
const ENDING = `SELECT source_file AS name FROM source WHERE source_file LIKE ? OR source_file LIKE ?
  UNION SELECT source_file FROM source_dirty WHERE source_file LIKE ? OR source_file LIKE ?`;

/** If no name ends with the path, returns sources whose file names have the same first letters or contain the file's name. */
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

/** Replaces all but ASCII letters, digits, `.` and `/` by LIKE's wildcard `_`: LIKE folds case only in ASCII, and `%` is a wildcard too. */
function pattern(text: string): string {
  return text.replace(/[^A-Za-z0-9./]/gu, "_");
}
