/** The common form of a graph row in the ledger and in upstream's files, and the comparison of the ledger with a file. */
import type { Statement } from "better-sqlite3";
import { isRecord } from "../../base/parse-json.ts";
import type { GraphKind, LinkKind, LinkRecord } from "../port/graph.ts";
import type { LedgerDatabase } from "./open.ts";
import { readColumn } from "./json-column.ts";
import { bodySql, GRAPH_TABLES } from "./schema/graph-schema.ts";
import { selectRows, selectValues } from "./select.ts";

export type DatabaseKind = keyof typeof GRAPH_TABLES;
export type RowName = { kind: GraphKind; id: string };
/** A row in the form of upstream's files. `body` has the columns as a JSON array, or a link's record as JSON. */
export type FileRow = RowName & { body: string };
/** A row whose newest state upstream's file lacks. A null `body` means that the row is deleted. */
export type ListedRow = RowName & { seq: number; body: string | null };

/** Changes that other processes made in a file. */
export type Finding = {
  /** Rows that the ledger lacks or has with another content. */
  rows: FileRow[];
  /** Rows that the file has lost. The broker sends them again: upstream never deletes a fact, so somebody has restored an older file. */
  missing: RowName[];
  /** Links that another program deleted from the file. Upstream deletes links, but never facts. */
  deleted: (RowName & { kind: LinkKind })[];
};

/** The ledger's links of one kind. `listed` has the ids of links whose newest state the file lacks. */
export type Held = { bodies: ReadonlyMap<string, string>; listed: ReadonlySet<string> };

export function readLinks(ledger: LedgerDatabase, kind: LinkKind): Held {
  return ledger.transaction(() => ({
    bodies: new Map(
      ledger
        .prepare<[string], [string, string]>("SELECT id, record FROM link WHERE kind = ? ORDER BY row")
        .raw()
        .all(kind),
    ),
    listed: new Set(selectValues<string>(ledger, "SELECT id FROM graph_outbox WHERE kind = ?", kind)),
  }))();
}

export function readListed(ledger: LedgerDatabase, kinds: readonly GraphKind[], limit: number): ListedRow[] {
  const bodyOf = new Map(kinds.map((kind) => [kind, bodyStatement(ledger, kind)]));
  const sql = `SELECT seq, kind, id FROM graph_outbox WHERE kind IN (${kinds.map(() => "?").join()}) ORDER BY seq LIMIT ?`;
  return selectRows<RowName & { seq: number }>(ledger, sql, ...kinds, limit).map((row) => ({
    ...row,
    body: bodyOf.get(row.kind)?.get(row.id) ?? null,
  }));
}

export function bodyStatement(ledger: LedgerDatabase, kind: GraphKind): Statement<[string], string> {
  const body = isLink(kind) ? "record" : bodySql(kind);
  return ledger.prepare<[string], string>(`SELECT ${body} ${rowById(kind)}`).pluck();
}

/** Returns SQL that selects one row. Its parameter is the row's id. */
export function rowById(kind: GraphKind): string {
  return isLink(kind) ? `FROM link WHERE kind = '${kind}' AND id = ?` : `FROM ${GRAPH_TABLES[kind].table} WHERE id = ?`;
}

/** Compares a file with the ledger. If a link differs that is not `listed`, another program has changed it since the last comparison. */
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

export function readLink(record: string): LinkRecord {
  return readColumn("link.record", record, isRecord);
}

export function isLink(kind: GraphKind): kind is LinkKind {
  return kind === "tunnel" || kind === "hallway";
}

/** Returns the links of a kind in the order in which they were made. */
export function allLinks(ledger: LedgerDatabase, kind: LinkKind): LinkRecord[] {
  return selectValues<string>(ledger, "SELECT record FROM link WHERE kind = ? ORDER BY row", kind).map(readLink);
}
