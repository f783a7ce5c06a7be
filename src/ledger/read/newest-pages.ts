/**
 * Lists drawers for people, the newest first, and finds them by a part of their ids. A split drawer counts once, at its
 * first slice. Used by reader.ts.
 */
import type { PlaceFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { PARENT, SLICE_ORDER } from "../schema/parent-schema.ts";
import { condition } from "./drawer-filter.ts";

/** SQLite's own name for the index of the ids. */
const BY_ID = "sqlite_autoindex_drawer_1";
/** Slices that are not the first of their drawer. */
const LATER_SLICES = `SELECT row FROM (SELECT row, row_number() OVER (PARTITION BY ${PARENT} ORDER BY ${SLICE_ORDER}) AS nth
  FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} IS NOT NULL) WHERE nth > 1`;
/** Hexadecimal digits that begin the hash in an id, as people copy them. */
const HASH_PART = /^[0-9a-f]{6,}$/;

/** Returns the page's rows, and how many drawers the place has. */
export function newestPage(
  database: LedgerDatabase,
  place: PlaceFilter,
  limit: number,
  offset: number,
): { rows: number[]; total: number } {
  const { where, values } = condition(place);
  const whole = `${where === "" ? "WHERE" : `${where} AND`} row NOT IN (${LATER_SLICES})`;
  const numbers = (sql: string, ...more: number[]): number[] =>
    database
      .prepare<(string | number)[], number>(sql)
      .pluck()
      .all(...values, ...more);
  const rows = numbers(`SELECT row FROM drawer ${whole} ORDER BY row DESC LIMIT ? OFFSET ?`, limit, offset);
  const { wing, room } = place;
  const total = wholePlaces(database)
    .filter((one) => (wing === undefined || one.wing === wing) && (room === undefined || one.room === room))
    .reduce((sum, { drawers }) => sum + drawers, 0);
  return { rows, total };
}

type Place = { wing: string; room: string; drawers: number };

/** Counts the drawers of each place: its rows, without the later slices of split drawers. */
export function wholePlaces(database: LedgerDatabase): Place[] {
  const later = new Map<string, number>();
  const slices = database
    .prepare<[], Place>(
      `SELECT wing, room, count(*) AS drawers FROM drawer WHERE row IN (${LATER_SLICES}) GROUP BY wing, room`,
    )
    .all();
  for (const { wing, room, drawers } of slices) later.set(JSON.stringify([wing, room]), drawers);
  return database
    .prepare<[], Place>("SELECT wing, room, drawers FROM place WHERE drawers > 0 ORDER BY wing, room")
    .all()
    .map((place) => ({ ...place, drawers: place.drawers - (later.get(JSON.stringify([place.wing, place.room])) ?? 0) }))
    .filter(({ drawers }) => drawers > 0);
}

/**
 * Returns at most `limit` ids of whole drawers that begin with `part`; where there are none, those whose hash begins
 * with it.
 */
export function idsByPart(database: LedgerDatabase, part: string, limit: number): string[] {
  const idsOf = (rows: string, ...values: string[]): string[] =>
    database
      .prepare<(string | number)[], string>(
        `SELECT DISTINCT coalesce(${PARENT}, id) AS whole FROM drawer WHERE row IN (${rows}) ORDER BY whole LIMIT ?`,
      )
      .pluck()
      .all(...values, limit);
  const begin = idsOf(
    `SELECT row FROM drawer INDEXED BY ${BY_ID} WHERE id >= ? AND id < ? ORDER BY id LIMIT 10000`,
    ...[part, `${part}\u{10FFFF}`],
  );
  if (begin.length > 0 || !HASH_PART.test(part)) return begin;
  return idsOf(`SELECT row FROM drawer INDEXED BY ${BY_ID} WHERE instr(id, ?) > 0`, `_${part}`);
}
