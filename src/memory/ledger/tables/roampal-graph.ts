/** Implements CarriedTx over SQLite: entries of Roampal's graphs, inside one write. Runs on the writer thread. */
import type { CarriedTx } from "../../port/outcome.ts";
import type { LedgerDatabase } from "../open.ts";

export class SqliteCarriedTx implements CarriedTx {
  readonly #onChange: (id: string) => void;
  readonly #find;
  readonly #put;
  readonly #remove;

  /** `onChange` is called with the entry's id before each change. */
  constructor(database: LedgerDatabase, onChange: (id: string) => void) {
    this.#onChange = onChange;
    this.#find = database.prepare<[string], string>("SELECT value FROM carried_graph WHERE id = ?").pluck();
    this.#put = database.prepare("INSERT OR REPLACE INTO carried_graph VALUES (?, ?)");
    this.#remove = database.prepare("DELETE FROM carried_graph WHERE id = ?");
  }

  find(id: string): string | undefined {
    return this.#find.get(id);
  }

  put(id: string, value: string): void {
    this.#onChange(id);
    this.#put.run(id, value);
  }

  /** Restores the value of an entry; null removes the entry. */
  restore(id: string, value: string | null): void {
    if (value !== null) return this.put(id, value);
    this.#onChange(id);
    this.#remove.run(id);
  }
}
