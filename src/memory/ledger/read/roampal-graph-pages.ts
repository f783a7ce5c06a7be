/** Pages of the entries of Roampal's graphs, for an export to Roampal. Used by reader.ts. */
import type { LedgerDatabase } from "../open.ts";

type Row = { id: string; value: string };

/** Returns the entries after `after`, up to `bytes`, but at least one if there is any. */
export function carriedAfter(database: LedgerDatabase, after: string, limit: number, bytes: number): Row[] {
  const rows: Row[] = [];
  let left = bytes;
  const following = database.prepare<[string, number], Row>(
    "SELECT id, value FROM carried_graph WHERE id > ? ORDER BY id LIMIT ?",
  );
  for (const row of following.iterate(after, limit)) {
    left -= row.id.length + row.value.length;
    if (rows.length > 0 && left < 0) break;
    rows.push(row);
  }
  return rows;
}
