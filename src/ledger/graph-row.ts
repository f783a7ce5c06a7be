/**
 * A row of the graph as ledger and upstream's files both can say it, and how the two are held against each other. Pure but for
 * reading the ledger. Imported by this folder, by ledger/tables/graph-merge.ts for its types.
 */
import type { Statement } from "better-sqlite3";
import type { LinkKind } from "../port/graph.ts";
import type { LedgerDatabase } from "./open.ts";
import { bodySql, GRAPH_TABLES } from "./schema/graph-schema.ts";

export type DatabaseKind = keyof typeof GRAPH_TABLES;
export type Kind = DatabaseKind | LinkKind;
export type RowName = { kind: Kind; id: string };
/** `body`: the columns as a JSON array, or a link's record as JSON. */
export type FileRow = RowName & { body: string };
/** A row whose newest state a file does not hold yet; `body` null = it is gone. */
export type ListedRow = RowName & { seq: number; body: string | null };

/** What others did to a file. */
export type Finding = {
  /** They are new there or different. */
  rows: FileRow[];
  /** The file has lost them: they are sent again. Upstream deletes no facts. */
  missing: RowName[];
  /** Somebody deleted them, as upstream does with links. */
  deleted: RowName[];
};

/** What the ledger holds of a kind of links: records by id, and which are listed. */
export type Held = { bodies: ReadonlyMap<string, string>; listed: ReadonlySet<string> };

export function readLinks(ledger: LedgerDatabase, kind: LinkKind): Held {
  return ledger.transaction(() => ({
    bodies: new Map(
      ledger
        .prepare<[string], [string, string]>("SELECT id, record FROM link WHERE kind = ? ORDER BY row")
        .raw()
        .all(kind),
    ),
    listed: new Set(ledger.prepare<[string], string>("SELECT id FROM graph_outbox WHERE kind = ?").pluck().all(kind)),
  }))();
}

export function readListed(ledger: LedgerDatabase, kinds: readonly Kind[], limit: number): ListedRow[] {
  const bodyOf = new Map(kinds.map((kind) => [kind, bodyStatement(ledger, kind)]));
  return ledger
    .prepare<(string | number)[], RowName & { seq: number }>(
      `SELECT seq, kind, id FROM graph_outbox WHERE kind IN (${kinds.map(() => "?").join()}) ORDER BY seq LIMIT ?`,
    )
    .all(...kinds, limit)
    .map((row) => ({ ...row, body: bodyOf.get(row.kind)?.get(row.id) ?? null }));
}

/** One row's body by its id. */
export function bodyStatement(ledger: LedgerDatabase, kind: Kind): Statement<[string], string> {
  const from = isLink(kind)
    ? `record FROM link WHERE kind = '${kind}' AND`
    : `${bodySql(kind)} FROM ${GRAPH_TABLES[kind].table} WHERE`;
  return ledger.prepare<[string], string>(`SELECT ${from} id = ?`).pluck();
}

/**
 * Listed links are ours to send, and differ until they are. One that is not listed was there as the ledger has it: what is
 * different now, or gone, somebody else made so; unless the whole file is gone, which is nobody's deleting.
 */
export function compareLinks(
  { bodies, listed }: Held,
  theirs: Iterable<FileRow>,
  kind: LinkKind,
  isThere: boolean,
): Finding {
  const rows: FileRow[] = [];
  const seen = new Set<string>();
  for (const row of theirs) {
    if (seen.has(row.id)) continue;
    seen.add(row.id);
    if (bodies.get(row.id) !== row.body) rows.push(row);
  }
  const gone = [...bodies.keys()].filter((id) => !seen.has(id) && !listed.has(id)).map((id) => ({ kind, id }));
  return isThere ? { rows, missing: [], deleted: gone } : { rows, missing: gone, deleted: [] };
}

export function isLink(kind: Kind): kind is LinkKind {
  return kind === "tunnel" || kind === "hallway";
}
