/** The two outboxes, of drawers and of closets, as SQL sees them. Read by read/outbox-reader.ts, worked off by write/outbox-list.ts. */

export type OutboxKind = Readonly<{
  table: string;
  /** Yields, as `c` with its column `id`, all that can be sent. */
  sendable: string;
  /** Joined to the table `o`, yields `c.text`, `c.metadata` and the column `vector` of each entry. */
  joined: string;
  /** Counts what waits for its vector. */
  pending: string;
  /** The key under which the palace that was written to is noted. */
  target: string;
}>;

export const DRAWERS: OutboxKind = {
  table: "outbox",
  sendable: "drawer c JOIN vector v ON v.row = c.row WHERE TRUE",
  joined: "LEFT JOIN drawer c ON c.id = o.id LEFT JOIN vector v ON v.row = c.row",
  pending: "SELECT count(*) FROM pending_embedding",
  target: "driver_target",
};

export const CLOSETS: OutboxKind = {
  table: "closet_outbox",
  sendable: "closet c WHERE vector IS NOT NULL",
  joined: "LEFT JOIN closet c ON c.id = o.id",
  pending: "SELECT count(*) FROM closet WHERE vector IS NULL",
  target: "closet_target",
};
