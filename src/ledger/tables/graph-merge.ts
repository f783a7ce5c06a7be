/**
 * Brings what others wrote into upstream's graph files into the ledger, and strikes off what those files hold by now. Judged
 * by the ledger as it is at that moment, on the writer thread: a client may have written since the files were compared.
 *
 * A listed row is one that was changed here and not sent yet. When somebody else has changed it, too, a fact that either side
 * has ended is ended, with our end if both have; what else differs is theirs. Of a link ours stands. Anything else is theirs.
 */
import { bodyStatement, type FileRow, type Finding, isLink, type Kind, type RowName } from "../graph-row.ts";
import type { LedgerDatabase } from "../open.ts";
import { GRAPH_TABLES } from "../schema/graph-schema.ts";

/** What a take-over changed. */
export type TakenOver = { taken: number; relisted: number; removed: number };

const KINDS: readonly Kind[] = ["entity", "triple", "tunnel", "hallway"];
/** Of a triple's columns. */
const VALID_TO = GRAPH_TABLES.triple.columns.indexOf("valid_to");

export class GraphMerge {
  readonly #group: (work: () => void) => void;
  readonly #body;
  readonly #put;
  readonly #statements;

  /** `group` runs the work in a transaction of the ledger. */
  constructor(database: LedgerDatabase, group: (work: () => void) => void) {
    this.#group = group;
    this.#body = new Map(KINDS.map((kind) => [kind, bodyStatement(database, kind)]));
    this.#put = new Map(KINDS.map((kind) => [kind, database.prepare(putSql(kind))]));
    this.#statements = {
      listed: database.prepare<[string, string], { seq: number; gone: string | null }>(
        "SELECT seq, gone FROM graph_outbox WHERE kind = ? AND id = ?",
      ),
      list: database.prepare(
        `INSERT OR REPLACE INTO graph_outbox (kind, id, at_ms) VALUES (?, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER))`,
      ),
      unlist: database.prepare("DELETE FROM graph_outbox WHERE kind = ? AND id = ?"),
      done: database.prepare("DELETE FROM graph_outbox WHERE kind = ? AND id = ? AND seq = ?"),
      deleteLink: database.prepare("DELETE FROM link WHERE kind = ? AND id = ?"),
    };
  }

  takeOver({ rows, missing, deleted }: Finding): TakenOver {
    const { listed, list, unlist, deleteLink } = this.#statements;
    const result: TakenOver = { taken: 0, relisted: 0, removed: 0 };
    this.#group(() => {
      for (const row of rows) if (this.#takeRow(row)) result.taken += 1;
      for (const { kind, id } of missing) {
        if (listed.get(kind, id) !== undefined || this.#bodyOf({ kind, id }) === undefined) continue;
        list.run(kind, id);
        result.relisted += 1;
      }
      for (const { kind, id } of deleted) {
        if (listed.get(kind, id) !== undefined || this.#bodyOf({ kind, id }) === undefined) continue;
        deleteLink.run(kind, id);
        unlist.run(kind, id);
        result.removed += 1;
      }
    });
    return result;
  }

  /** Forgets the rows, each only if it has not changed since it was read. */
  done(rows: readonly (RowName & { seq: number })[]): void {
    this.#group(() => {
      for (const { kind, id, seq } of rows) this.#statements.done.run(kind, id, seq);
    });
  }

  /** True if the ledger has another row than before. */
  #takeRow(row: FileRow): boolean {
    const { listed, unlist } = this.#statements;
    const { kind, id, body } = row;
    if (isBroken(row)) return false;
    const ours = this.#bodyOf(row);
    const entry = listed.get(kind, id);
    if (ours === body) {
      unlist.run(kind, id);
      return false;
    }
    // Deleted here: to be sent, unless it is not what we deleted.
    if (ours === undefined && entry !== undefined && (entry.gone === "" || entry.gone === body)) return false;
    const isTheirs = ours === undefined || (entry === undefined && !isReopened(kind, ours, body));
    const merged = isTheirs ? body : mergedBody(kind, ours, body);
    if (merged !== ours) this.#put.get(kind)?.run(id, ...valuesOf(kind, merged));
    else if (entry === undefined) this.#statements.list.run(kind, id);
    // The trigger has listed what was written.
    if (merged === body) unlist.run(kind, id);
    return merged !== ours;
  }

  #bodyOf({ kind, id }: RowName): string | undefined {
    return this.#body.get(kind)?.get(id);
  }
}

/** Nothing upstream opens a fact again: a file that has it open is an older one that somebody put back. */
function isReopened(kind: Kind, ours: string, theirs: string): boolean {
  const end = (body: string): unknown => (JSON.parse(body) as unknown[])[VALID_TO];
  return kind === "triple" && end(ours) !== null && end(theirs) === null;
}

function mergedBody(kind: Kind, ours: string, theirs: string): string {
  if (kind === "entity") return theirs;
  if (isLink(kind)) return ours;
  const merged = JSON.parse(theirs) as unknown[];
  merged[VALID_TO] = (JSON.parse(ours) as unknown[])[VALID_TO] ?? merged[VALID_TO];
  // SQLite writes 1.0 where JavaScript writes 1: what is one of the two must be known as it.
  const text = JSON.stringify(merged);
  return [theirs, ours].find((body) => JSON.stringify(JSON.parse(body)) === text) ?? text;
}

/** A row that upstream could not have made. */
function isBroken({ kind, body }: FileRow): boolean {
  if (isLink(kind)) return false;
  const required = kind === "entity" ? 1 : 3;
  return (JSON.parse(body) as unknown[]).slice(0, required).includes(null);
}

/** The columns of a row's body, in the order of putSql. */
export function valuesOf(kind: Kind, body: string): unknown[] {
  return isLink(kind) ? [body] : (JSON.parse(body) as unknown[]);
}

export function putSql(kind: Kind): string {
  if (isLink(kind))
    return `INSERT INTO link (kind, id, record) VALUES ('${kind}', ?, ?)
      ON CONFLICT (kind, id) DO UPDATE SET record = excluded.record`;
  const { table, columns } = GRAPH_TABLES[kind];
  return `INSERT INTO ${table} (id, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})
    ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
}
