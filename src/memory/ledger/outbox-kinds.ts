/**
 * SQL of the two outboxes, of drawers and of closets: the lists of rows whose newest state the public palace does not have. Used by
 * read/outbox-reader.ts and write/outbox-list.ts.
 */

export type OutboxKind = Readonly<{
  table: string;
  /** Table of the rows. */
  rows: string;
  /** FROM clause of all rows that can be sent: a table `c` with the column `id`. */
  sendable: string;
  /** Join to the outbox table `o`. It gives `c.text`, `c.metadata` and `vector` of each entry. */
  joined: string;
  /** Query that counts rows without a vector. */
  pending: string;
  /** Key in `meta` for the target that the outbox writes to. */
  target: string;
}>;

export const DRAWERS: OutboxKind = {
  table: "outbox",
  rows: "drawer",
  sendable: "drawer c JOIN vector v ON v.row = c.row WHERE TRUE",
  joined: "LEFT JOIN drawer c ON c.id = o.id LEFT JOIN vector v ON v.row = c.row",
  // Without a model all drawers wait. Their count is then read from the places, because counting a million rows takes time.
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

/**
 * Returns the beginning of the keys in `meta` that name removed rows. The key that consists of this beginning alone has the ids of the
 * earlier palaces' collections.
 */
export const removedPrefix = ({ table }: Pick<OutboxKind, "table">): string => `removed:${table}:`;

/**
 * Returns, as SQL, the key in `meta` of a removed row that earlier palaces may still have. Its value has the ids of these palaces'
 * collections. `id`: SQL.
 */
export const removedKey = (kind: Pick<OutboxKind, "table">, id: string): string => `'${removedPrefix(kind)}' || ${id}`;

/** Returns the key in `meta` for the last row that an earlier palace can have. Later rows were filed while another palace was in use. */
export const lastRowKey = ({ table }: Pick<OutboxKind, "table">): string => `last-row:${table}`;
