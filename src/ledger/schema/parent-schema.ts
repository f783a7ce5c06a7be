/**
 * The drawer that a slice belongs to, as the ledger finds slices by: an index of those rows alone, with the place, so that a list
 * of whole drawers reads no text. Imported by schema.ts and by whoever asks for slices; a ledger of an older version gets the same
 * text as its migration.
 */

import { sliceBounds } from "../record.ts";

const named = (key: string): string =>
  `CASE json_type(metadata, '$.${key}') WHEN 'text' THEN nullif(metadata ->> '$.${key}', '') END`;

/** SQL over a drawer: the id it is a slice of; null for a drawer of its own. Old diaries have the second key only. */
export const PARENT = `coalesce(${named("parent_drawer_id")}, ${named("parent_entry_id")})`;

/** SQL over a slice: where it stands in its drawer's text (Source: upstream-latest.md 2.1). */
export const SLICE_ORDER = "coalesce(CAST(metadata ->> '$.chunk_index' AS INTEGER), 0), id";

/**
 * SQL: the slices of a drawer in the order of its text, `slicesBound` is what is bound. A diary's slice that was itself cut anew
 * names two drawers, and is found by both; its id begins as those of the diary's slices do.
 */
export const SLICES_OF = `SELECT * FROM drawer
  WHERE ${PARENT} = ? OR (id BETWEEN ? AND ? AND ${named("parent_entry_id")} = ?) ORDER BY ${SLICE_ORDER}`;

export function slicesBound(id: string): [string, string, string, string] {
  return [id, ...sliceBounds(id), id];
}

export const PARENT_SCHEMA = `
CREATE INDEX IF NOT EXISTS drawer_parent ON drawer (${PARENT}, wing, room) WHERE ${PARENT} IS NOT NULL;
`;
