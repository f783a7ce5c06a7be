/** Sets of the rows that pass a filter, for the search threads. A set is cached until the ledger changes. */
import type { DrawerFilter } from "../../port/drawer.ts";
import { isNumbers, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { condition, isWindow, windowIndex } from "./drawer-filter.ts";
import { selectValue } from "../select.ts";

/** Rows that pass a filter, in order. `allowed[row]` is 1 for each; a row beyond the end of `allowed` does not pass. */
export type RowSet = { rows: number[]; allowed: Uint8Array };

/** Number of cached sets. Agents search the same few rooms again and again. */
const KEPT_MAX = 8;

export class RowSets {
  readonly #ledger: LedgerDatabase;
  readonly #version;
  readonly #kept = new Map<string, RowSet>();
  #keptVersion: unknown;

  constructor(ledger: LedgerDatabase) {
    this.#ledger = ledger;
    this.#version = ledger.prepare("PRAGMA data_version").pluck();
  }

  /** Returns the rows that a filter by source or time allows. Undefined for other filters: the vector scan checks wing and room itself. */
  beyondPlaces(filter: DrawerFilter): Uint8Array | undefined {
    return filter.sourceFile !== undefined || isWindow(filter) ? this.of(filter).allowed : undefined;
  }

  of(filter: DrawerFilter): RowSet {
    // The version is read before the rows: after a commit in between, the next search reads the rows again.
    const version = this.#version.get();
    if (version !== this.#keptVersion) this.#kept.clear();
    this.#keptVersion = version;
    const { wing, wings, room, sourceFile, since, before } = filter;
    const key = JSON.stringify([wing, wings, room, sourceFile, since, before]);
    const set = this.#kept.get(key) ?? this.#read(filter);
    this.#kept.delete(key);
    if (this.#kept.size >= KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, set);
    return set;
  }

  #read(filter: DrawerFilter): RowSet {
    const { where, values } = condition(filter);
    const sql = `SELECT json_group_array(row) FROM drawer ${windowIndex(this.#ledger, filter)} ${where}`;
    const list = selectValue<string>(this.#ledger, sql, ...values);
    const rows = readColumn("drawer.row", list ?? "[]", isNumbers).sort((a, b) => a - b);
    const allowed = new Uint8Array((rows.at(-1) ?? 0) + 1);
    for (const row of rows) allowed[row] = 1;
    return { rows, allowed };
  }
}
