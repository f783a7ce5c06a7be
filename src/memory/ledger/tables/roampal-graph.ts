/** Implements CarriedTx over SQLite. */
import type { CarriedTx } from "../../port/outcome.ts";
import type { LedgerDatabase } from "../open.ts";

export class SqliteCarriedTx implements CarriedTx {
  readonly #onChange: (id: string) => void;
  readonly #find;
  readonly #put;
  readonly #remove;

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

  /** Restores an entry's value; null removes the entry. */
  restore(id: string, value: string | null): void {
    if (value !== null) return this.put(id, value);
    this.#onChange(id);
    this.#remove.run(id);
  }
}
