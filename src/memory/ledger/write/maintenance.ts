/**
 * Background work on the ledger. It indexes the full text of changed sources, because a source that is indexed at every write would cost
 * the square of its size. It also merges full-text segments, makes missing static vectors and word forms, and frees pages.
 */
import type { LedgerDatabase } from "../open.ts";
import type { LedgerTables } from "../tables/tables.ts";
import { pragmaNumber } from "../select.ts";
import { FormBacklog } from "./form-backlog.ts";

const SOURCES_PER_PASS = 16;
/** Number of drawers that get their static vector in one step. A step takes about 30 ms. */
const CODES_PER_PASS = 200;
/** Number of pages of full-text segments merged in one step. A step takes some milliseconds. */
const MERGE_PAGES = 64;
/** Number of pages freed in one step. A step takes some milliseconds. */
const FREED_PAGES = 256;
/** Free pages that stay in the file for the next writes: at least 1,024 (4 MB), or an eighth of all pages if that is more. */
const FREE_KEPT_MIN = 1_024;
const FREE_KEPT_PART = 8;

/** `at`: position in the document, null if unknown. */
type Part = { at: number | null; row: number; text: string; dateWords: string };
type Tables = Pick<LedgerTables, "derived" | "putStatic" | "putForms">;

export class Maintenance {
  readonly #database: LedgerDatabase;
  readonly #group: (work: () => void) => void;
  readonly #tables: Tables;
  readonly #forms: FormBacklog;
  readonly #statements;
  /** All drawers up to this row have a static vector. Infinity if all drawers have one: each write makes the vectors of its drawers. */
  #codedTo = 0;

  /** `group` runs the work in a transaction. */
  constructor(database: LedgerDatabase, group: (work: () => void) => void, tables: Tables) {
    this.#tables = tables;
    this.#forms = new FormBacklog(database, group, tables);
    this.#database = database;
    this.#group = group;
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = {
      dirtySources: database.prepare<[number], string>("SELECT source_file FROM source_dirty LIMIT ?").pluck(),
      cleanSource: prepare("DELETE FROM source_dirty WHERE source_file = ?"),
      sourceRow: database.prepare<[string], number>("SELECT row FROM source WHERE source_file = ?").pluck(),
      // The index on source_file is partial. Without `<> ''` each source would cost a scan of all drawers.
      makeSource: prepare(
        `INSERT INTO source (source_file, wing, mtime, sha256, drawers)
           SELECT source_file, min(wing), 0, '', count(*) FROM drawer WHERE source_file = ? AND source_file <> ''
           GROUP BY source_file`,
      ),
      dropSource: prepare("DELETE FROM source WHERE row = ?"),
      sourceDrawers: database.prepare<[string], Part>(
        `SELECT row, text, date_words AS dateWords, json_extract(metadata, '$.chunk_index') AS at
           FROM drawer WHERE source_file = ? AND source_file <> '' ORDER BY row`,
      ),
      dropHeadings: prepare("DELETE FROM heading WHERE row = ?"),
      putHeadings: prepare("INSERT INTO heading (row, text) VALUES (?, ?)"),
      dropSourceText: prepare("DELETE FROM source_fts WHERE rowid = ?"),
      putSourceText: prepare("INSERT INTO source_fts (rowid, text) VALUES (?, ?)"),
      uncoded: database
        .prepare<[], number>(
          "SELECT (SELECT coalesce(sum(drawers), 0) FROM place) - (SELECT count(*) FROM static_code)",
        )
        .pluck(),
      nextUncoded: database.prepare<[number], { row: number; text: string }>(
        `SELECT row, text FROM drawer WHERE row > ? AND NOT EXISTS (SELECT 1 FROM static_code s WHERE s.row = drawer.row)
           ORDER BY row LIMIT ${CODES_PER_PASS}`,
      ),
      totalChanges: database.prepare<[], number>("SELECT total_changes()").pluck(),
      mergeSegments: prepare(`INSERT INTO drawer_fts (drawer_fts, rank) VALUES ('merge', ${MERGE_PAGES})`),
    };
  }

  /** Does one bounded step. Returns true if there is more to do. */
  step(): boolean {
    return (
      this.indexSources() || this.#forms.step() || this.#codeDrawers() || this.#mergeSegments() || this.#freePages()
    );
  }

  /** Returns free pages to the file system. A ledger without auto_vacuum keeps them until it is rewritten. */
  #freePages(): boolean {
    const free = pragmaNumber(this.#database, "freelist_count");
    if (free <= Math.max(FREE_KEPT_MIN, pragmaNumber(this.#database, "page_count") / FREE_KEPT_PART)) return false;
    this.#group(() => void this.#database.pragma(`incremental_vacuum(${FREED_PAGES})`));
    return pragmaNumber(this.#database, "freelist_count") < free;
  }

  /** Indexes some changed sources. Returns true if there may be more. */
  indexSources(): boolean {
    const statements = this.#statements;
    const sources = statements.dirtySources.all(SOURCES_PER_PASS);
    if (sources.length === 0) return false;
    this.#group(() => {
      for (const source of sources) {
        const drawers = statements.sourceDrawers.all(source);
        const texts = drawers.map(({ text, dateWords }) => `${text} ${dateWords}`);
        if (texts.length > 0 && statements.sourceRow.get(source) === undefined) statements.makeSource.run(source);
        const row = statements.sourceRow.get(source);
        if (row !== undefined) {
          statements.dropSourceText.run(row);
          if (texts.length > 0) statements.putSourceText.run(row, this.#withForms(texts.join("\n")));
          else statements.dropSource.run(row);
        }
        this.#putHeadings(source, drawers);
        statements.cleanSource.run(source);
      }
    });
    return true;
  }

  #putHeadings(source: string, drawers: readonly Part[]): void {
    const { headingsAbove } = this.#tables.derived;
    if (headingsAbove === undefined) return;
    const { dropHeadings, putHeadings } = this.#statements;
    // Sorts by position, because an undo may leave the rows in any order.
    const parts = drawers.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
    const texts = parts.map(({ text }) => text);
    // Several notes of agents may name one source, but all begin at position 0. Only the parts of a document have different positions.
    const isDocument = new Set(parts.map(({ at }) => at)).size === parts.length;
    const headings = isDocument ? headingsAbove(source, texts) : [];
    parts.forEach(({ row }, at) => {
      dropHeadings.run(row);
      if ((headings[at] ?? "") !== "") putHeadings.run(row, headings[at]);
    });
  }

  /** Appends other spellings of the text's words (cut.ts), because sources have no separate table for these. */
  #withForms(text: string): string {
    return `${text}\n${this.#tables.derived.formsOf?.(text) ?? ""}`;
  }

  /** Makes some missing static vectors. Returns true if there may be more. */
  #codeDrawers(): boolean {
    const { uncoded, nextUncoded } = this.#statements;
    if (this.#codedTo === Number.POSITIVE_INFINITY || this.#tables.derived.staticCode === undefined) return false;
    // Counting is much cheaper than reading all texts to find that no vector is missing.
    const isDone = this.#codedTo === 0 && uncoded.get() === 0;
    const drawers = isDone ? [] : nextUncoded.all(this.#codedTo);
    if (drawers.length > 0)
      this.#group(() => {
        for (const { row, text } of drawers) this.#tables.putStatic(row, text, true);
      });
    this.#codedTo = drawers.at(-1)?.row ?? Number.POSITIVE_INFINITY;
    return drawers.length > 0;
  }

  /** Merges segments of the full text. FTS5 reports at least two changed rows if there was a segment to merge. */
  #mergeSegments(): boolean {
    const { totalChanges, mergeSegments } = this.#statements;
    const before = totalChanges.get() ?? 0;
    this.#group(() => void mergeSegments.run());
    return (totalChanges.get() ?? 0) - before >= 2;
  }
}
