/** Lists drawers for people, the newest first, and finds drawers by a part of their ids. A split drawer counts once. */
import type { PlaceFilter } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { wholeId } from "../record.ts";
import { BY_ID, PARENT, SLICE_ORDER } from "../schema/slice-index.ts";
import { condition } from "./drawer-filter.ts";
import { selectRows, selectValues } from "../select.ts";

const FIRST_SLICE = `SELECT row FROM drawer INDEXED BY drawer_parent WHERE ${PARENT} = ? ORDER BY ${SLICE_ORDER} LIMIT 1`;
const ALL_SLICES = `SELECT row, ${PARENT} AS parent, wing, room FROM drawer INDEXED BY drawer_parent
  WHERE ${PARENT} IS NOT NULL ORDER BY ${PARENT}`;
/** Matches the first digits of the hash in an id, as people copy them. */
const HASH_PART = /^[0-9a-f]{6,}$/;

type Place = { wing: string; room: string; drawers: number };
type Slice = { row: number; parent: string; wing: string; room: string };
/** `count`: number of rows above `after` and at most `upTo`. `list`: rows up to `upTo`, newest first. Both read only indexes. */
type Rows = { count(after: number, upTo: number): number; list(upTo: number, limit: number): number[] };

/** Returns a page of drawers. It finds the page's first row by bisection, so it reads no drawer before the page. */
export function newestPage(
  database: LedgerDatabase,
  place: PlaceFilter,
  limit: number,
  offset: number,
): { rows: number[]; total: number } {
  const { where, values } = condition(place);
  const places = selectRows<Place>(database, `SELECT wing, room, drawers FROM place ${where}`, ...values);
  const { later: hidden, parentOf } = laterSlices(database);
  const { wing, room } = place;
  const here = hidden.filter((one) => (wing ?? one.wing) === one.wing && (room ?? one.room) === one.room);
  const later = Float64Array.from(here, ({ row }) => row).sort();
  const total = places.reduce((sum, { drawers }) => sum + drawers, 0) - later.length;
  if (offset >= total) return { rows: [], total };
  const found = where === "" ? allRows(database) : rowsOf(database, places);
  const isLater = new Set(later);
  let [low, high] = [0, found.list(Number.MAX_SAFE_INTEGER, 1)[0] ?? 0];
  let skipped = 0;
  while (offset - skipped > limit && high - low > limit) {
    const middle = Math.floor((low + high) / 2);
    const count = found.count(middle, high) - (below(later, high) - below(later, middle));
    if (skipped + count > offset) low = middle;
    else [skipped, high] = [skipped + count, middle];
  }
  const rows: number[] = [];
  const wanted = offset - skipped + limit;
  for (let more = found.list(high, wanted); rows.length < wanted && more.length > 0;) {
    rows.push(...more.filter((row) => !isLater.has(row)));
    more = found.list((more.at(-1) ?? 0) - 1, wanted);
  }
  const firstOf = database.prepare<[string], number>(FIRST_SLICE).pluck();
  const shown = rows.slice(offset - skipped, wanted).map((row) => {
    const parent = parentOf.get(row);
    return parent === undefined ? row : (firstOf.get(parent) ?? row);
  });
  return { rows: shown, total };
}

/** Counts and lists all rows from FTS5's short records of the drawers, which are read a hundred times as fast as the drawers. */
function allRows(database: LedgerDatabase): Rows {
  const count = database
    .prepare<[number, number], number>("SELECT count(*) FROM drawer_fts_docsize WHERE id > ? AND id <= ?")
    .pluck();
  const list = database
    .prepare<[number, number], number>("SELECT id FROM drawer_fts_docsize WHERE id <= ? ORDER BY id DESC LIMIT ?")
    .pluck();
  return { count: (after, upTo) => count.get(after, upTo) ?? 0, list: (upTo, limit) => list.all(upTo, limit) };
}

function rowsOf(database: LedgerDatabase, places: readonly Place[]): Rows {
  const from = "FROM drawer INDEXED BY drawer_place WHERE wing = ? AND room = ?";
  type Bound = [string, string, number, number];
  const count = database.prepare<Bound, number>(`SELECT count(*) ${from} AND row > ? AND row <= ?`).pluck();
  const list = database.prepare<Bound, number>(`SELECT row ${from} AND row <= ? ORDER BY row DESC LIMIT ?`).pluck();
  return {
    count: (after, upTo) => places.reduce((sum, { wing, room }) => sum + (count.get(wing, room, after, upTo) ?? 0), 0),
    list: (upTo, limit) =>
      places
        .flatMap(({ wing, room }) => list.all(wing, room, upTo, limit))
        .sort((a, b) => b - a)
        .slice(0, limit),
  };
}

/** Returns how many of the sorted rows are at most `row`. */
function below(rows: Float64Array, row: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rows[middle] ?? 0) <= row) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Counts the drawers of each room. A split drawer counts once. */
export function wholePlaces(database: LedgerDatabase): Place[] {
  const later = new Map<string, number>();
  for (const { wing, room } of laterSlices(database).later) {
    const place = JSON.stringify([wing, room]);
    later.set(place, (later.get(place) ?? 0) + 1);
  }
  return selectRows<Place>(database, "SELECT wing, room, drawers FROM place WHERE drawers > 0 ORDER BY wing, room")
    .map((place) => ({ ...place, drawers: place.drawers - (later.get(JSON.stringify([place.wing, place.room])) ?? 0) }))
    .filter(({ drawers }) => drawers > 0);
}

/** Returns the slices to leave out. A split drawer keeps one slice: its oldest or, if its slices are in several rooms, its first. */
function laterSlices(database: LedgerDatabase): { later: Slice[]; parentOf: Map<number, string> } {
  const slices = selectRows<Slice>(database, ALL_SLICES);
  const firstOf = database.prepare<[string], number>(FIRST_SLICE).pluck();
  const later: Slice[] = [];
  const parentOf = new Map<number, string>();
  for (let from = 0, to = 0; from < slices.length; from = to) {
    const { parent, wing, room } = slices[from] as Slice;
    while (slices[to]?.parent === parent) to += 1;
    const all = slices.slice(from, to);
    const isSpread = all.some((one) => one.wing !== wing || one.room !== room);
    const listed = isSpread ? firstOf.get(parent) : all.reduce((oldest, { row }) => Math.min(oldest, row), Infinity);
    for (const one of all) {
      if (one.row === listed) parentOf.set(one.row, parent);
      else later.push(one);
    }
  }
  return { later, parentOf };
}

/** Returns whole drawers' ids that begin with `part` or, if none does, whose hash begins with `part`. */
export function idsByPart(database: LedgerDatabase, part: string, limit: number): string[] {
  const idsOf = (rows: string, ...values: string[]): string[] =>
    selectValues<string>(
      database,
      `SELECT DISTINCT coalesce(${PARENT}, id) AS whole FROM drawer WHERE row IN (${rows}) ORDER BY whole LIMIT ?`,
      ...values,
      limit,
    );
  const begin = idsOf(
    `SELECT row FROM drawer INDEXED BY ${BY_ID} WHERE id >= ? AND id < ? ORDER BY id LIMIT 10000`,
    ...[part, `${part}\u{10FFFF}`],
  );
  if (begin.length > 0 || !HASH_PART.test(part)) return begin;
  return idsOf(`SELECT row FROM drawer INDEXED BY ${BY_ID} WHERE instr(id, ?) > 0`, `_${part}`);
}

/** Returns ids of deleted drawers that still have a before-image. A drawer that another program deleted is not found. */
export function deletedIdsByPart(database: LedgerDatabase, part: string, limit: number): string[] {
  const idsOf = (where: string, ...values: string[]): string[] => {
    const sql = `SELECT DISTINCT id FROM change c WHERE kind = 'drawer' AND after IS NULL AND ${where}
      AND NOT EXISTS (SELECT 1 FROM drawer d WHERE d.id = c.id)`;
    return selectValues<string>(database, sql, ...values);
  };
  const ids = idsOf("id >= ? AND id < ?", part, `${part}\u{10FFFF}`);
  if (HASH_PART.test(part)) ids.push(...idsOf("instr(id, ?) > 0", `_${part}`));
  return [...new Set(ids.map(wholeId))].slice(0, limit);
}
