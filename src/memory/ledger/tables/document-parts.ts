/** Implements PartTx over SQLite. */
import type { DocumentPart, PartTx } from "../../port/source.ts";
import type { LedgerDatabase } from "../open.ts";

export class SqlitePartTx implements PartTx {
  readonly #onChange: () => void;
  readonly #held;
  readonly #put;
  readonly #texts;
  readonly #drop;
  readonly #dropBefore;

  constructor(database: LedgerDatabase, onChange: () => void) {
    this.#onChange = onChange;
    this.#held = database
      .prepare<[string, string], number>(
        "SELECT coalesce(max(start + length), 0) FROM source_part WHERE source_file = ? AND sending = ?",
      )
      .pluck();
    this.#put = database.prepare(
      "INSERT INTO source_part (source_file, sending, start, length, text, at_ms) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#texts = database
      .prepare<[string], string>("SELECT text FROM source_part WHERE source_file = ? ORDER BY start")
      .pluck();
    this.#drop = database.prepare("DELETE FROM source_part WHERE source_file = ?");
    this.#dropBefore = database.prepare(
      `DELETE FROM source_part WHERE source_file IN
         (SELECT source_file FROM source_part GROUP BY source_file HAVING max(at_ms) < ?)`,
    );
  }

  held(sourceFile: string, sending: string): number {
    return this.#held.get(sourceFile, sending) ?? 0;
  }

  put({ sourceFile, sending, from, text, atMs }: DocumentPart): void {
    this.#put.run(sourceFile, sending, from, text.length, text, atMs);
    this.#onChange();
  }

  text(sourceFile: string): string {
    return this.#texts.all(sourceFile).join("");
  }

  drop(sourceFile: string): void {
    if (this.#drop.run(sourceFile).changes > 0) this.#onChange();
  }

  /** Deletes the parts of documents without a new part since `atMs`. */
  dropBefore(atMs: number): void {
    this.#dropBefore.run(atMs);
  }
}
