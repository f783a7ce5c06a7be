/** Implements ClosetTx over SQLite. */
import type { ClosetTx, NewCloset } from "../../port/closet.ts";
import type { LedgerDatabase } from "../open.ts";
import { place } from "../record.ts";

export class SqliteClosetTx implements ClosetTx {
  readonly #onChange: (closets: number) => void;
  readonly #count;
  readonly #text;
  readonly #isModelMade;
  readonly #put;
  readonly #remove;
  readonly #dropOne;
  readonly #removeOthers;
  readonly #forget;

  constructor(database: LedgerDatabase, onChange: (closets: number) => void) {
    this.#onChange = onChange;
    this.#count = database
      .prepare<[string], number>("SELECT count(*) FROM closet WHERE source_file = ? AND source_file <> ''")
      .pluck();
    this.#text = database.prepare<[string], string>("SELECT text FROM closet WHERE id = ?").pluck();
    this.#isModelMade = database
      .prepare<[string], number>(
        `SELECT 1 FROM closet WHERE source_file = ? AND source_file <> ''
           AND json_extract(metadata, '$.generated_by') IS NOT NULL LIMIT 1`,
      )
      .pluck();
    this.#put = database.prepare(
      `INSERT INTO closet (id, wing, room, source_file, text, metadata)
         VALUES (@id, @wing, @room, @sourceFile, @text, @metadata)
         ON CONFLICT (id) DO UPDATE SET wing = excluded.wing, room = excluded.room, source_file = excluded.source_file,
           text = excluded.text, metadata = excluded.metadata, text_version = text_version + (text <> excluded.text),
           vector = CASE WHEN text = excluded.text THEN vector END`,
    );
    this.#remove = database.prepare("DELETE FROM closet WHERE source_file = ? AND source_file <> ''");
    this.#dropOne = database.prepare("DELETE FROM closet WHERE id = ?");
    this.#removeOthers = database.prepare(
      `DELETE FROM closet WHERE source_file = ? AND source_file <> '' AND id NOT IN (SELECT value FROM json_each(?))`,
    );
    this.#forget = database
      .prepare<{ sources: string; match: string; inJson: string }, string>(
        `DELETE FROM closet WHERE (source_file <> '' AND source_file IN (SELECT value FROM json_each(@sources)))
           OR (@match <> '' AND (instr(text, @match) OR instr(metadata, @inJson) OR instr(id, @match))) RETURNING id`,
      )
      .pluck();
  }

  count(sourceFile: string): number {
    return this.#count.get(sourceFile) ?? 0;
  }

  textOf(id: string): string | undefined {
    return this.#text.get(id);
  }

  isModelMade(sourceFile: string): boolean {
    return this.#isModelMade.get(sourceFile) !== undefined;
  }

  replace(sourceFile: string, closets: readonly NewCloset[]): void {
    const { changes } = this.#removeOthers.run(sourceFile, JSON.stringify(closets.map(({ id }) => id)));
    this.#onChange(changes);
    for (const closet of closets) this.put(closet);
  }

  put({ id, text, metadata }: NewCloset): void {
    this.#put.run({ id, ...place(metadata), text, metadata: JSON.stringify(metadata) });
    this.#onChange(1);
  }

  /** Deletes the summary of a changed or deleted drawer. As in upstream, the summary has the drawer's own id. */
  dropSummary(drawerId: string): void {
    // Even a DELETE that deletes no row makes SQLite flush the full-text index, because the table has triggers.
    if (this.textOf(drawerId) === undefined) return;
    this.#onChange(this.#dropOne.run(drawerId).changes);
  }

  remove(sourceFile: string): number {
    const { changes } = this.#remove.run(sourceFile);
    this.#onChange(changes);
    return changes;
  }

  /** Deletes the closets of the sources, and closets that contain `match`. `inJson`: `match` escaped for JSON. Returns the closets' ids. */
  forget(sources: readonly string[], match = "", inJson = ""): string[] {
    const ids = this.#forget.all({ sources: JSON.stringify(sources), match, inJson });
    this.#onChange(ids.length);
    return ids;
  }
}
