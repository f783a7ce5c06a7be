/**
 * What the public palace has not got yet, of drawers or of closets: triggers list it as it is written; here it is struck off, and
 * listed again. Lives on the writer thread.
 */
import type { LedgerDatabase } from "../open.ts";

/** `rows`: from where the ids `c.id` of all that can be sent come. `target`: under which name the palace is noted. */
export type Listed = { table: string; rows: string; target: string };

export const DRAWERS: Listed = {
  ...{ table: "outbox", rows: "drawer c JOIN vector v ON v.row = c.row WHERE TRUE", target: "driver_target" },
};
export const CLOSETS: Listed = {
  ...{ table: "closet_outbox", rows: "closet c WHERE vector IS NOT NULL", target: "closet_target" },
};

export class OutboxList {
  readonly #group: (work: () => void) => void;
  readonly #onDone: (id: string) => void;
  readonly #target: string;
  readonly #statements;

  /** `group` runs its work as one transaction; `onDone` is called in it. */
  constructor(
    database: LedgerDatabase,
    { table, rows, target }: Listed,
    group: (work: () => void) => void,
    onDone: (id: string) => void = () => {},
  ) {
    this.#group = group;
    this.#onDone = onDone;
    this.#target = target;
    const list = `INSERT OR REPLACE INTO ${table} (id, at_ms) SELECT c.id, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM ${rows}`;
    this.#statements = {
      done: database.prepare(`DELETE FROM ${table} WHERE id = ? AND seq = ?`),
      listAll: database.prepare(`${list} ORDER BY c.row`),
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

  /** The palace has it as it is. */
  unlist(id: string): void {
    this.#statements.unlist.run(id);
  }

  done(entries: readonly { id: string; seq: number }[]): void {
    this.#group(() => {
      for (const { id, seq } of entries) if (this.#statements.done.run(id, seq).changes > 0) this.#onDone(id);
    });
  }

  /** Lists everything again for a palace that was not the one written to so far. */
  retarget(target: string): void {
    const { getMeta, putMeta, listAll } = this.#statements;
    const before = getMeta.get(this.#target);
    if (before === target) return;
    this.#group(() => {
      if (!isKnownFolder(before, target)) listAll.run();
      putMeta.run(this.#target, target);
    });
  }

  /** Lists again what the palace has lost. Those without a vector are listed when they have one. */
  resend(ids: readonly string[] | "all"): void {
    const { listAll, listOne } = this.#statements;
    this.#group(() => {
      if (ids === "all") listAll.run();
      else for (const id of ids) listOne.run(id);
    });
  }
}

/**
 * The palace's own files hold what was taken over from them, and the watch sends what they lack, also when a repair has made
 * their collection anew. Only after another target something may be older there than here.
 */
function isKnownFolder(before: string | undefined, target: string): boolean {
  const folder = (name: string): string => name.slice(0, name.lastIndexOf("#"));
  return target.startsWith("file:") && (before === undefined || folder(before) === folder(target));
}
