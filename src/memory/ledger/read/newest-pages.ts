/**
 * Lists drawers for people, the newest first, and finds drawers by a part of their ids. A split drawer counts once, in the place of its
 * first slice. Used by reader.ts.
 */
import type { PlaceFilter } from "../../port/drawer.ts";
import { isTexts, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { PARENT, SLICE_ORDER } from "../schema/slice-index.ts";
import { condition } from "./drawer-filter.ts";

/** SQLite's own name for the index on the ids. */
const BY_ID = "sqlite_autoindex_drawer_1";
/** SQL for the row of a drawer's first slice. */
const FIRST_SLICE = `SELECT row FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} = ? ORDER BY ${SLICE_ORDER} LIMIT 1`;
/** Counts slices by place, in one pass over the index. `spread`: ids of drawers whose slices are in several places. */
const SLICES_BY_PLACE = `SELECT wing, room, sum(slices - 1) AS drawers, iif(isSpread, json_group_array(id), '[]') AS spread
  FROM (SELECT ${PARENT} AS id, min(wing) AS wing, min(room) AS room, count(*) AS slices,
      min(wing) <> max(wing) OR min(room) <> max(room) AS isSpread
    FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} IS NOT NULL GROUP BY ${PARENT})
  GROUP BY wing, room, isSpread`;
/** Matches the first hexadecimal digits of the hash in an id, as people copy them. */
const HASH_PART = /^[0-9a-f]{6,}$/;

/** Returns the page's rows, and the number of drawers in the place. Reads the newest rows until the page is full. */
export function newestPage(
  database: LedgerDatabase,
  place: PlaceFilter,
  limit: number,
  offset: number,
): { rows: number[]; total: number } {
  const { where, values } = condition(place);
  const newest = database.prepare<string[], number>(`SELECT row FROM drawer ${where} ORDER BY row DESC`).pluck();
  const parentOf = database.prepare<[number], string | null>(`SELECT ${PARENT} FROM drawer WHERE row = ?`).pluck();
  const firstOf = database.prepare<[string], number>(FIRST_SLICE).pluck();
  const firsts = new Map<string, number | undefined>();
  const rows: number[] = [];
  let skipped = 0;
  for (const row of newest.iterate(...values)) {
    if (rows.length === limit) break;
    const parent = parentOf.get(row);
    if (typeof parent === "string") {
      if (!firsts.has(parent)) firsts.set(parent, firstOf.get(parent));
      if (firsts.get(parent) !== row) continue;
    }
    if (skipped < offset) skipped += 1;
    else rows.push(row);
  }
  const { wing, room } = place;
  const total = wholePlaces(database)
    .filter((one) => (wing === undefined || one.wing === wing) && (room === undefined || one.room === room))
    .reduce((sum, { drawers }) => sum + drawers, 0);
  return { rows, total };
}

type Place = { wing: string; room: string; drawers: number };

/** Counts the drawers of each place: the place's rows without the later slices of split drawers. */
export function wholePlaces(database: LedgerDatabase): Place[] {
  const later = new Map<string, number>();
  for (const { wing, room, drawers } of laterSlices(database)) {
    const place = JSON.stringify([wing, room]);
    later.set(place, (later.get(place) ?? 0) + drawers);
  }
  return database
    .prepare<[], Place>("SELECT wing, room, drawers FROM place WHERE drawers > 0 ORDER BY wing, room")
    .all()
    .map((place) => ({ ...place, drawers: place.drawers - (later.get(JSON.stringify([place.wing, place.room])) ?? 0) }))
    .filter(({ drawers }) => drawers > 0);
}

/** Counts the slices that are not their drawer's first. Reads a drawer only if its slices are in several places. */
function laterSlices(database: LedgerDatabase): Place[] {
  const slices = database.prepare<[string], Place>(
    `SELECT wing, room, 1 AS drawers FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} = ? ORDER BY ${SLICE_ORDER}`,
  );
  return database
    .prepare<[], Place & { spread: string }>(SLICES_BY_PLACE)
    .all()
    .flatMap(({ spread, ...place }) => {
      const ids = readColumn("drawer.id", spread, isTexts);
      return ids.length === 0 ? [place] : ids.flatMap((id) => slices.all(id).slice(1));
    });
}

/** Returns at most `limit` ids of whole drawers that begin with `part`. If no id does, returns ids whose hash begins with `part`. */
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
