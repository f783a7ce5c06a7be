/** Finds drawers that contain only a part of a text, because two slices of a drawer or two chunks of a source meet inside the text. */
import type { Drawer } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { type DrawerRecord, toDrawer } from "../record.ts";

/** Minimum number of characters of a part. Shorter parts would match by chance. */
const PART_MIN = 4;

type Edge = { row: number; key: string; index: number; head: string; tail: string };

/** Returns drawers with a part of `match` whose neighbour has the rest or all of `match`. `whole`: drawers with all of `match`. */
export function textParts(database: LedgerDatabase, match: string, whole: readonly Drawer[]): Drawer[] {
  const length = match.length;
  if (length < 2 * PART_MIN) return [];
  const edges = database.prepare<{ length: number }, Edge>(
    `SELECT row, coalesce(json_extract(metadata, '$.parent_drawer_id'), json_extract(metadata, '$.parent_entry_id'),
         source_file) AS key, coalesce(json_extract(metadata, '$.chunk_index'), 0) AS "index",
       substr(text, 1, @length) AS head, substr(text, -@length) AS tail
       FROM drawer WHERE json_extract(metadata, '$.chunk_index') IS NOT NULL`,
  );
  const holders = new Map(whole.map((drawer) => [`${keyOf(drawer)} ${indexOf(drawer)}`, drawer.row]));
  const ends = new Map<string, { row: number; sizes: number[] }>();
  const begins = new Map<string, { row: number; sizes: number[] }>();
  for (const { row, key, index, head, tail } of edges.iterate({ length })) {
    if (key === "") continue;
    const ending = sizes(length, (size) => tail.endsWith(match.slice(0, size)));
    const beginning = sizes(length, (size) => head.startsWith(match.slice(length - size)));
    if (ending.length > 0) ends.set(`${key} ${index}`, { row, sizes: ending });
    if (beginning.length > 0) begins.set(`${key} ${index}`, { row, sizes: beginning });
  }
  const rows = new Set<number>();
  const beside = (name: string, by: number): string => {
    const at = name.lastIndexOf(" ");
    return `${name.slice(0, at)} ${Number(name.slice(at + 1)) + by}`;
  };
  for (const [name, end] of ends) {
    const next = begins.get(beside(name, 1));
    if (next !== undefined && end.sizes.some((size) => next.sizes.includes(length - size))) {
      rows.add(end.row);
      rows.add(next.row);
    }
    if (holders.has(beside(name, 1)) && end.sizes.some((size) => size >= PART_MIN)) rows.add(end.row);
  }
  for (const [name, begin] of begins)
    if (holders.has(beside(name, -1)) && begin.sizes.some((size) => size >= PART_MIN)) rows.add(begin.row);
  for (const row of holders.values()) rows.delete(row);
  const read = database.prepare<[number], DrawerRecord>("SELECT * FROM drawer WHERE row = ?");
  return [...rows].flatMap((row) => read.get(row) ?? []).map(toDrawer);
}

function sizes(length: number, holds: (size: number) => boolean): number[] {
  const found: number[] = [];
  for (let size = 1; size < length; size++) if (holds(size)) found.push(size);
  return found;
}

function keyOf({ metadata }: Drawer): string {
  return String(metadata["parent_drawer_id"] ?? metadata["parent_entry_id"] ?? metadata["source_file"] ?? "");
}

function indexOf({ metadata }: Drawer): number {
  return Number(metadata["chunk_index"] ?? 0);
}
