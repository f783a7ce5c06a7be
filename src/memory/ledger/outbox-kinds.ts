/** SQL of the two outboxes (drawers and closets): the lists of rows whose newest state the public palace lacks. */

/** SQL for the present time, ms, as in the column `at_ms` of each outbox. */
export const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

export type OutboxKind = Readonly<{
  table: string;
  rows: string;
  /** FROM clause of the rows that can be sent: a table `c` with the column `id`. */
  sendable: string;
  /** Join to the outbox table `o` that gives `c.text`, `c.metadata` and `vector` of each entry. */
  joined: string;
  pending: string;
  /** Key in `meta` for the name of the public palace that the outbox serves. */
  target: string;
}>;

export const DRAWERS: OutboxKind = {
  table: "outbox",
  rows: "drawer",
  sendable: "drawer c JOIN vector v ON v.row = c.row WHERE TRUE",
  joined: "LEFT JOIN drawer c ON c.id = o.id LEFT JOIN vector v ON v.row = c.row",
  // Without a model all drawers wait. Adding the counts of all rooms is then faster than counting a million rows.
  pending: `SELECT CASE WHEN EXISTS (SELECT 1 FROM vector) THEN (SELECT count(*) FROM pending_embedding)
    ELSE (SELECT coalesce(sum(drawers), 0) FROM place) END`,
  target: "driver_target",
};

export const CLOSETS: OutboxKind = {
  table: "closet_outbox",
  rows: "closet",
  sendable: "closet c WHERE vector IS NOT NULL",
  joined: "LEFT JOIN closet c ON c.id = o.id",
  pending: "SELECT count(*) FROM closet WHERE vector IS NULL",
  target: "closet_target",
};

/** Returns the prefix of the keys in `meta` for removed rows. The prefix alone is the key for the collection ids of all earlier palaces. */
export const removedPrefix = ({ table }: Pick<OutboxKind, "table">): string => `removed:${table}:`;

/** Returns SQL for the key in `meta` of a removed row. The value lists the collections of earlier palaces that may still have the row. */
export const removedKey = (kind: Pick<OutboxKind, "table">, id: string): string => `'${removedPrefix(kind)}' || ${id}`;

/** Returns the key in `meta` for the newest row that an earlier palace can have: the newest row when the outbox got its present palace. */
export const lastRowKey = ({ table }: Pick<OutboxKind, "table">): string => `last-row:${table}`;
