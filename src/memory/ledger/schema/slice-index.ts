/** The index of slices by the drawer to which they belong. It contains wing and room, so that a list of whole drawers reads no text. */

import { sliceBounds } from "../record.ts";

const named = (key: string): string =>
  `CASE json_type(metadata, '$.${key}') WHEN 'text' THEN nullif(metadata ->> '$.${key}', '') END`;

/** SQL for the id of a slice's drawer; null for a whole drawer. Slices of old diaries have only `parent_entry_id`. */
export const PARENT = `coalesce(${named("parent_drawer_id")}, ${named("parent_entry_id")})`;

/** SQLite's own name for the unique index on the ids. */
export const BY_ID = "sqlite_autoindex_drawer_1";

/** SQL for a slice's position in its drawer's text (Source: upstream-latest.md 2.1). */
export const SLICE_ORDER = "coalesce(CAST(metadata ->> '$.chunk_index' AS INTEGER), 0), id";

/** SQL for a drawer's slices. If a slice of a diary entry was cut again, the second condition finds the pieces by their ids' beginning. */
export const SLICES_OF = `SELECT * FROM drawer
  WHERE ${PARENT} = ? OR (id BETWEEN ? AND ? AND ${named("parent_entry_id")} = ?) ORDER BY ${SLICE_ORDER}`;

export function slicesBound(id: string): [string, string, string, string] {
  return [id, ...sliceBounds(id), id];
}

export const PARENT_SCHEMA = `
CREATE INDEX IF NOT EXISTS drawer_parent ON drawer (${PARENT}, wing, room) WHERE ${PARENT} IS NOT NULL;
`;
