/** Implements ImportedTx over SQLite. Imported journal rows are never changed; undo can remove them. */
import { isRecord } from "../../../base/parse-json.ts";
import type { ImportedTx } from "../../port/hygiene.ts";
import { isColumns, readAnyColumn, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { IMPORTED_BODY } from "../schema/imported-schema.ts";

export class SqliteImportedTx implements ImportedTx {
  readonly #onChange: (id: string) => void;
  readonly #isOurs;
  readonly #body;
  readonly #put;
  readonly #remove;
  readonly #keptFrom;
  readonly #byKey;

  constructor(database: LedgerDatabase, onChange: (id: string) => void) {
    this.#onChange = onChange;
    this.#isOurs = database
      .prepare<[string, number], number>("SELECT 1 FROM journal WHERE key = ? AND at_ms = ?")
      .pluck();
    this.#body = database
      .prepare<[string, number], string>(`SELECT ${IMPORTED_BODY} FROM imported_journal WHERE key = ? AND at_ms = ?`)
      .pluck();
    this.#put = database.prepare(
      `INSERT OR REPLACE INTO imported_journal (at_ms, key, source, seq, claimed_ms, fingerprint, method, agent, door, uid, pid,
         request_id, arguments, result, drawers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#remove = database.prepare("DELETE FROM imported_journal WHERE key = ? AND at_ms = ?");
    this.#keptFrom = database
      .prepare<[], number>("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'history_from_ms'")
      .pluck();
    this.#byKey = database.prepare<[string], { fingerprint: string; result: string }>(
      "SELECT fingerprint, result FROM imported_journal WHERE key = ? ORDER BY at_ms",
    );
  }

  has(id: string): boolean {
    const [atMs, key] = partsOf(id);
    return this.#isOurs.get(key, atMs) !== undefined || this.bodyOf(id) !== undefined;
  }

  bodyOf(id: string): string | undefined {
    const [atMs, key] = partsOf(id);
    return this.#body.get(key, atMs);
  }

  put(id: string, body: string): void {
    this.#onChange(id);
    this.#put.run(...partsOf(id), ...readColumn("change.before", body, isColumns));
  }

  /** Restores a row from its before-image; null removes the row. */
  restore(id: string, body: string | null): void {
    if (body !== null) return this.put(id, body);
    this.#onChange(id);
    const [atMs, key] = partsOf(id);
    this.#remove.run(key, atMs);
  }

  get keptFromMs(): number {
    return this.#keptFrom.get() ?? Number.NEGATIVE_INFINITY;
  }

  /** Returns the answer that an imported call got, if the answer's drawer is here or forgotten. Otherwise the call must run again. */
  answerTo(key: string, fingerprint: string, isHere: (id: string) => boolean): { value: unknown } | undefined {
    for (const row of this.#byKey.all(key)) {
      const value = readAnyColumn("imported_journal.result", row.result);
      if (row.fingerprint === "") return { value };
      const { drawer_id: drawer, entry_id: id = drawer } = isRecord(value) ? value : {};
      if (row.fingerprint === fingerprint && typeof id === "string" && isHere(id)) return { value };
    }
    return undefined;
  }
}

function partsOf(id: string): [atMs: number, key: string] {
  const at = id.indexOf(" ");
  return [Number(id.slice(0, at)), id.slice(at + 1)];
}
