/**
 * Fills `form_fts` (other spellings of words) for drawers without a row there, or with a row by an older cut.ts. A kill loses at most one
 * step.
 */
import type { LedgerDatabase } from "../open.ts";
import type { LedgerTables } from "../tables/tables.ts";

/** Version of the rules in index/lexical/cut.ts. Raise it when the rules make other words of the same text. */
const FORMS_VERSION = 2;
/** Key in `meta`. Its value is the version and the last finished row, such as `1:200`, or `1:done`. */
export const FORMS_KEY = "forms";
const DONE = "done";
/** Number of drawers per step. A step takes some milliseconds. */
const DRAWERS_PER_PASS = 200;

type Tables = Pick<LedgerTables, "derived" | "putForms">;

export class FormBacklog {
  readonly #group: (work: () => void) => void;
  readonly #tables: Tables;
  readonly #statements;

  /** `group` runs the work in a transaction. */
  constructor(database: LedgerDatabase, group: (work: () => void) => void, tables: Tables) {
    this.#group = group;
    this.#tables = tables;
    this.#statements = {
      reached: database.prepare<[], string>(`SELECT value FROM meta WHERE key = '${FORMS_KEY}'`).pluck(),
      note: database.prepare<[string]>(`INSERT OR REPLACE INTO meta VALUES ('${FORMS_KEY}', ?)`),
      next: database.prepare<[number], { row: number; text: string; sourceFile: string }>(
        `SELECT row, text, source_file AS sourceFile FROM drawer WHERE row > ? ORDER BY row LIMIT ${DRAWERS_PER_PASS}`,
      ),
      markSource: database.prepare<[string]>("INSERT OR IGNORE INTO source_dirty VALUES (?)"),
    };
  }

  /** Does one bounded step. Returns true if there is more to do. */
  step(): boolean {
    const { reached, note, next, markSource } = this.#statements;
    if (this.#tables.derived.formsOf === undefined) return false;
    const [version, to = "0"] = (reached.get() ?? "").split(":");
    const isCurrent = version === String(FORMS_VERSION);
    if (isCurrent && to === DONE) return false;
    const drawers = next.all(isCurrent ? Number(to) : 0);
    this.#group(() => {
      for (const { row, text, sourceFile } of drawers)
        if (this.#tables.putForms(row, text, true) && sourceFile !== "") markSource.run(sourceFile);
      note.run(`${FORMS_VERSION}:${drawers.at(-1)?.row ?? DONE}`);
    });
    return drawers.length > 0;
  }
}
