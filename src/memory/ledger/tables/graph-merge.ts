/**
 * Merges changes that other programs made in upstream's graph files into the ledger. Reads the ledger's rows again, because a client may
 * have written since the files were compared. The file's values win, with two exceptions: a fact that is ended in the ledger stays ended
 * (an unsent end also keeps its date), and a link with unsent changes stays as in the ledger.
 */
import type { GraphKind } from "../../port/graph.ts";
import { bodyStatement, type FileRow, type Finding, isLink, rowById, type RowName } from "../graph-row.ts";
import { isColumns, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { NOW_MS } from "../outbox-kinds.ts";
import { GRAPH_TABLES } from "../schema/graph-schema.ts";

/** Numbers of the ledger's rows that a merge changed (`taken`), queued to be sent again (`relisted`), or removed. */
export type MergeCounts = { taken: number; relisted: number; removed: number };

const VALID_TO = GRAPH_TABLES.triple.columns.indexOf("valid_to");

export class GraphMerge {
  readonly #group: (work: () => void) => void;
  readonly #rows: GraphRows;
  readonly #statements;

  /** `group` runs the work in a transaction. */
  constructor(database: LedgerDatabase, group: (work: () => void) => void) {
    this.#group = group;
    this.#rows = new GraphRows(database);
    this.#statements = {
      listed: database.prepare<[string, string], { seq: number; gone: string | null }>(
        "SELECT seq, gone FROM graph_outbox WHERE kind = ? AND id = ?",
      ),
      list: database.prepare(`INSERT OR REPLACE INTO graph_outbox (kind, id, at_ms) VALUES (?, ?, ${NOW_MS})`),
      unlist: database.prepare("DELETE FROM graph_outbox WHERE kind = ? AND id = ?"),
      done: database.prepare("DELETE FROM graph_outbox WHERE kind = ? AND id = ? AND seq = ?"),
    };
  }

  adopt({ rows, missing, deleted }: Finding): MergeCounts {
    const { listed, list, unlist } = this.#statements;
    const result: MergeCounts = { taken: 0, relisted: 0, removed: 0 };
    this.#group(() => {
      for (const row of rows) if (this.#takeRow(row)) result.taken += 1;
      for (const { kind, id } of missing) {
        if (listed.get(kind, id) !== undefined || this.#rows.bodyOf(kind, id) === undefined) continue;
        list.run(kind, id);
        result.relisted += 1;
      }
      for (const { kind, id } of deleted) {
        if (listed.get(kind, id) !== undefined || this.#rows.bodyOf(kind, id) === undefined) continue;
        this.#rows.put(kind, id, null);
        unlist.run(kind, id);
        result.removed += 1;
      }
    });
    return result;
  }

  /** Removes sent rows from `graph_outbox`. A row that has changed meanwhile stays. */
  done(rows: readonly (RowName & { seq: number })[]): void {
    this.#group(() => {
      for (const { kind, id, seq } of rows) this.#statements.done.run(kind, id, seq);
    });
  }

  /** Merges one row of a file. Returns true if the ledger's row changed. */
  #takeRow(row: FileRow): boolean {
    const { listed, unlist } = this.#statements;
    const { kind, id, body } = row;
    if (isBroken(row)) return false;
    const ours = this.#rows.bodyOf(kind, id);
    const entry = listed.get(kind, id);
    if (ours === body) {
      unlist.run(kind, id);
      return false;
    }
    // The ledger deleted this row and has not sent the removal yet. The row stays deleted, unless another program has changed it since.
    if (ours === undefined && entry !== undefined && (entry.gone === "" || entry.gone === body)) return false;
    const isTheirs = ours === undefined || (entry === undefined && !isReopened(kind, ours, body));
    const merged = isTheirs ? body : mergedBody(kind, ours, body);
    if (merged !== ours) this.#rows.put(kind, id, merged);
    else if (entry === undefined) this.#statements.list.run(kind, id);
    // The write above queued the row for sending by a trigger, but the file has it already.
    if (merged === body) unlist.run(kind, id);
    return merged !== ours;
  }
}

/** Returns true if a fact is ended in the ledger and open in the file. Upstream never reopens a fact, so the file is an older copy. */
function isReopened(kind: GraphKind, ours: string, theirs: string): boolean {
  const end = (body: string): unknown => columnsIn(body)[VALID_TO];
  return kind === "triple" && end(ours) !== null && end(theirs) === null;
}

function mergedBody(kind: GraphKind, ours: string, theirs: string): string {
  if (kind === "entity") return theirs;
  if (isLink(kind)) return ours;
  const merged = columnsIn(theirs);
  merged[VALID_TO] = columnsIn(ours)[VALID_TO] ?? merged[VALID_TO];
  // SQLite writes 1.0 where JavaScript writes 1. A row that differs only in this counts as equal.
  const text = JSON.stringify(merged);
  return [theirs, ours].find((body) => JSON.stringify(columnsIn(body)) === text) ?? text;
}

/** Returns true if a required column is null. Upstream never writes such a row. */
function isBroken({ kind, body }: FileRow): boolean {
  if (isLink(kind)) return false;
  const required = kind === "entity" ? 1 : 3;
  return columnsIn(body).slice(0, required).includes(null);
}

function columnsIn(body: string): unknown[] {
  return readColumn("change.before", body, isColumns);
}

/** Reads and writes the rows of the graph by kind and id. */
export class GraphRows {
  readonly #statements;

  constructor(database: LedgerDatabase) {
    const prepared = (kind: GraphKind) => ({
      body: bodyStatement(database, kind),
      put: database.prepare(putSql(kind)),
      remove: database.prepare(`DELETE ${rowById(kind)}`),
    });
    this.#statements = {
      entity: prepared("entity"),
      triple: prepared("triple"),
      tunnel: prepared("tunnel"),
      hallway: prepared("hallway"),
    };
  }

  /** Returns the row in the form of FileRow. */
  bodyOf(kind: GraphKind, id: string): string | undefined {
    return this.#statements[kind].body.get(id);
  }

  /** Adds or replaces the row; a null `body` deletes it. */
  put(kind: GraphKind, id: string, body: string | null): void {
    const { put, remove } = this.#statements[kind];
    if (body === null) remove.run(id);
    else put.run(id, ...(isLink(kind) ? [body] : columnsIn(body)));
  }
}

function putSql(kind: GraphKind): string {
  if (isLink(kind))
    return `INSERT INTO link (kind, id, record) VALUES ('${kind}', ?, ?)
      ON CONFLICT (kind, id) DO UPDATE SET record = excluded.record`;
  const { table, columns } = GRAPH_TABLES[kind];
  return `INSERT INTO ${table} (id, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})
    ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
}
