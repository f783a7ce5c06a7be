/** Implements StandingTx over SQLite: what came of drawers, inside one write. Lives on the writer thread. */
import type { Standing, StandingTx } from "../../port/outcome.ts";
import type { LedgerDatabase } from "../open.ts";
import { type StandingRecord, toStanding } from "../standing-row.ts";

export class SqliteStandingTx implements StandingTx {
  readonly #onChange: (id: string) => void;
  readonly #find;
  readonly #put;
  readonly #remove;

  /** `onChange` is called before each change. */
  constructor(database: LedgerDatabase, onChange: (id: string) => void) {
    this.#onChange = onChange;
    this.#find = database.prepare<[string], StandingRecord>("SELECT * FROM standing WHERE id = ?");
    this.#put = database.prepare("INSERT OR REPLACE INTO standing VALUES (?, ?, ?, ?, ?, ?)");
    this.#remove = database.prepare("DELETE FROM standing WHERE id = ?");
  }

  find(id: string): Standing | undefined {
    const record = this.#find.get(id);
    return record === undefined ? undefined : toStanding(record);
  }

  put(id: string, { score, uses, successes, lastUsedMs, past }: Standing): void {
    this.#onChange(id);
    this.#put.run(id, score, uses, successes, lastUsedMs, JSON.stringify(past));
  }

  remove(id: string): void {
    if (this.#find.get(id) === undefined) return;
    this.#onChange(id);
    this.#remove.run(id);
  }

  /** `body`: the row as its before-image holds it; null where there was none. */
  restore(id: string, body: string | null): void {
    if (body === null) return this.remove(id);
    const [score, uses, successes, lastUsedMs, past] = JSON.parse(body) as [
      ...[number, number, number, number | null],
      Standing["past"],
    ];
    this.put(id, { score, uses, successes, lastUsedMs, past });
  }
}
