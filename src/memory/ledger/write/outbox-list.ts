/**
 * The list of drawers or closets that the public palace does not have yet. Triggers add entries at every write; this file removes entries
 * and adds them again. Runs on the writer thread.
 */
import type { LedgerDatabase } from "../open.ts";
import type { OutboxKind } from "../outbox-kinds.ts";

/** Number of rows that `retarget` lists in one transaction. Other writes wait for one transaction, a few milliseconds. */
const LISTED_MAX = 2_000;

export class OutboxList {
  readonly #group: (work: () => void) => void;
  readonly #onDone: (id: string) => void;
  readonly #target: string;
  readonly #statements;
  /** Target whose rows are being listed, and the last row listed so far. Lost with the process, which then begins again. */
  #listing: { target: string; row: number } | undefined;

  /** `group` runs its work as one transaction and calls `onDone` in it. */
  constructor(
    database: LedgerDatabase,
    { table, sendable, target }: OutboxKind,
    group: (work: () => void) => void,
    onDone: (id: string) => void = () => {},
  ) {
    this.#group = group;
    this.#onDone = onDone;
    this.#target = target;
    const list = `INSERT OR REPLACE INTO ${table} (id, at_ms) SELECT c.id, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM ${sendable}`;
    this.#statements = {
      done: database.prepare(`DELETE FROM ${table} WHERE id = ? AND seq = ?`),
      listAll: database.prepare(`${list} ORDER BY c.row`),
      listPart: database.prepare(`${list} AND c.row > ? AND c.row <= ? ORDER BY c.row`),
      endOfPart: database
        .prepare<[number, number], number | null>(
          `SELECT max(row) FROM (SELECT c.row FROM ${sendable} AND c.row > ? ORDER BY c.row LIMIT ?)`,
        )
        .pluck(),
      listOne: database.prepare(`${list} AND c.id = ?`),
      has: database.prepare<[string], number>(`SELECT 1 FROM ${table} WHERE id = ?`).pluck(),
      unlist: database.prepare(`DELETE FROM ${table} WHERE id = ?`),
      getMeta: database.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck(),
      putMeta: database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)"),
    };
  }

  has(id: string): boolean {
    return this.#statements.has.get(id) !== undefined;
  }

  /** Removes a row's entry, because the palace has the row in this state. */
  unlist(id: string): void {
    this.#statements.unlist.run(id);
  }

  done(entries: readonly { id: string; seq: number }[]): void {
    this.#group(() => {
      for (const { id, seq } of entries) if (this.#statements.done.run(id, seq).changes > 0) this.#onDone(id);
    });
  }

  /** Lists the next rows again if the palace is not the same as before. Returns true if there are more rows: call it again. */
  retarget(target: string): boolean {
    const { getMeta, putMeta, listPart, endOfPart } = this.#statements;
    const before = getMeta.get(this.#target);
    if (before === target) return false;
    const after = this.#listing?.target === target ? this.#listing.row : 0;
    const end = isKnownFolder(before, target) ? null : (endOfPart.get(after, LISTED_MAX) ?? null);
    this.#group(() => {
      if (end === null) putMeta.run(this.#target, target);
      else listPart.run(after, end);
    });
    this.#listing = end === null ? undefined : { target, row: end };
    return end !== null;
  }

  /** Lists again the rows that the palace has lost. Rows without a vector are listed once they have a vector. */
  resend(ids: readonly string[] | "all"): void {
    const { listAll, listOne } = this.#statements;
    this.#group(() => {
      if (ids === "all") listAll.run();
      else for (const id of ids) listOne.run(id);
    });
  }
}

/**
 * Returns true if the palace is in the same folder as before, even if a repair rebuilt its collection. Its files then have the adopted
 * rows, and the reconciler sends the missing rows. Only another folder may have rows that are older than the ledger's.
 */
function isKnownFolder(before: string | undefined, target: string): boolean {
  const folder = (name: string): string => name.slice(0, name.lastIndexOf("#"));
  return target.startsWith("file:") && (before === undefined || folder(before) === folder(target));
}
