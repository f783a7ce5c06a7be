/** The list of rows that the public palace does not have yet. Triggers add an entry at every write; this file removes sent entries. */
import type { LedgerDatabase } from "../open.ts";
import { lastRowKey, NOW_MS, type OutboxKind, removedKey, removedPrefix } from "../outbox-kinds.ts";

/** Number of rows that `retarget` lists in one transaction, for which other writes wait a few milliseconds. */
const LISTED_MAX = 2_000;

export class OutboxList {
  readonly #group: (work: () => void) => void;
  readonly #onDone: (id: string) => void;
  readonly #target: string;
  readonly #statements;
  /** Palace for which all rows are being listed, and the last row listed so far. After a restart the listing begins again. */
  #listing: { target: string; row: number } | undefined;

  /** `group` runs its work as one transaction. `onDone` is called inside the transaction for each sent row. */
  constructor(
    database: LedgerDatabase,
    kind: OutboxKind,
    group: (work: () => void) => void,
    onDone: (id: string) => void = () => {},
  ) {
    this.#group = group;
    this.#onDone = onDone;
    const { table, sendable, joined, target } = kind;
    this.#target = target;
    keepRemovals(database, kind);
    const list = `INSERT OR REPLACE INTO ${table} (id, at_ms) SELECT c.id, ${NOW_MS} FROM ${sendable}`;
    const prefix = removedPrefix(kind);
    this.#statements = {
      done: database.prepare(`DELETE FROM ${table} WHERE id = ? AND seq = ?`),
      noteEarlier: database.prepare(
        `INSERT INTO meta VALUES ('${prefix}', ?)
           ON CONFLICT (key) DO UPDATE SET value = value || excluded.value WHERE instr(value, excluded.value) = 0`,
      ),
      noteLastRow: database.prepare(
        `INSERT OR REPLACE INTO meta SELECT '${lastRowKey(kind)}', coalesce(max(row), 0) FROM ${kind.rows}`,
      ),
      // Does not replace an existing row of `meta`, because that row already names the palaces that need the removal.
      keepPending: database.prepare(
        `INSERT OR IGNORE INTO meta SELECT ${removedKey(kind, "o.id")}, ? FROM ${table} o ${joined} WHERE c.id IS NULL`,
      ),
      carriedOut: database.prepare(
        `UPDATE meta SET value = replace(value, ?, '') WHERE key = ${removedKey(kind, "?")}`,
      ),
      dropRemoval: database.prepare(`DELETE FROM meta WHERE key = ${removedKey(kind, "?")} AND value = ''`),
      listRemovals: database.prepare(
        `INSERT OR REPLACE INTO ${table} (id, at_ms) SELECT o.id, ${NOW_MS}
           FROM (SELECT substr(key, ${prefix.length + 1}) AS id, value FROM meta
               WHERE key > '${prefix}' AND key < '${prefix}\u{10FFFF}') o ${joined}
           WHERE c.id IS NULL AND instr(o.value, ?) > 0`,
      ),
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

  /** Removes a row's entry, because the palace now has the row as it is in the ledger. */
  unlist(id: string): void {
    this.#statements.unlist.run(id);
    this.#dropKept(id);
  }

  done(entries: readonly { id: string; seq: number }[]): void {
    this.#group(() => {
      for (const { id, seq } of entries) {
        if (this.#statements.done.run(id, seq).changes === 0) continue;
        this.#dropKept(id);
        this.#onDone(id);
      }
    });
  }

  /** Records that the present palace does not need this row's removal any more: the palace has removed the row, or has a newer one. */
  #dropKept(id: string): void {
    const { getMeta, carriedOut, dropRemoval } = this.#statements;
    const collection = collectionOf(getMeta.get(this.#target) ?? "");
    if (carriedOut.run(collection, id).changes > 0) dropRemoval.run(id);
  }

  /**
   * Puts the next rows on the list if `target` is another palace than before. Call it again while it returns true. Also lists the removals
   * that `target` has missed, because its copies of the removed rows would otherwise come back as foreign rows.
   */
  retarget(target: string): boolean {
    const { getMeta, putMeta, listPart, endOfPart, noteEarlier, noteLastRow, keepPending, listRemovals } =
      this.#statements;
    const before = getMeta.get(this.#target);
    if (before === target) {
      this.#listing = undefined;
      return false;
    }
    const after = this.#listing?.target === target ? this.#listing.row : 0;
    const end = isKnownFolder(before, target) ? null : (endOfPart.get(after, LISTED_MAX) ?? null);
    this.#group(() => {
      if (after === 0 && before !== undefined && !isSamePalace(before, target)) {
        noteEarlier.run(collectionOf(before));
        noteLastRow.run();
        keepPending.run(collectionOf(before));
        listRemovals.run(collectionOf(target));
      }
      if (end === null) putMeta.run(this.#target, target);
      else listPart.run(after, end);
    });
    this.#listing = end === null ? undefined : { target, row: end };
    return end !== null;
  }

  /** Puts rows that the palace has lost on the list again. A row without a vector is listed once it has one. */
  resend(ids: readonly string[] | "all"): void {
    const { listAll, listOne } = this.#statements;
    this.#group(() => {
      if (ids === "all") listAll.run();
      else for (const id of ids) listOne.run(id);
    });
  }
}

/** Creates a trigger: if a deleted row may be in an earlier palace, the trigger lists in `meta` all palaces that need the removal. */
function keepRemovals(database: LedgerDatabase, kind: OutboxKind): void {
  database.function("collection_of", { deterministic: true }, (target) => collectionOf(String(target)));
  database.exec(`CREATE TEMP TRIGGER IF NOT EXISTS ${kind.rows}_removed AFTER DELETE ON main.${kind.rows}
    WHEN old.row <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = '${lastRowKey(kind)}') BEGIN
      INSERT OR REPLACE INTO meta
        SELECT ${removedKey(kind, "old.id")}, replace(e.value, collection_of(t.value), '') || collection_of(t.value)
          FROM meta e JOIN meta t ON t.key = '${kind.target}' WHERE e.key = '${removedPrefix(kind)}';
    END`);
}

/**
 * Returns true if the palace is in the same folder as before, even if a repair rebuilt its collection. Rows need not be listed again then:
 * the reconciler sends the missing rows. Another folder may have rows that are older than the ledger's.
 */
function isKnownFolder(before: string | undefined, target: string): boolean {
  return target.startsWith("file:") && (before === undefined || placeOf(before) === placeOf(target));
}

/** Returns true for the same folder or server, or for the same collection elsewhere, as when a server now serves the files. */
function isSamePalace(before: string, target: string): boolean {
  return placeOf(before) === placeOf(target) || collectionOf(before) === collectionOf(target);
}

function placeOf(target: string): string {
  return target.slice(0, target.lastIndexOf("#"));
}

function collectionOf(target: string): string {
  return target.slice(target.lastIndexOf("#"));
}
