/** Rebuilds data that the ledger derives from its drawers. Each step is one transaction, so a kill leaves the old state or the new one. */
import { bytesOf, quantize } from "../../../base/quantize.ts";
import type { LedgerDatabase } from "../open.ts";
import { toFloats } from "../record.ts";
import { GROWTH_COUNTED } from "../schema/growth-schema.ts";
import { FORMS_KEY } from "./form-backlog.ts";
import { selectValue } from "../select.ts";

/** Number of quantized vectors per transaction. A write may have to wait for this transaction, some milliseconds. */
const CODES_PER_STEP = 500;

export class Reindex {
  readonly #database: LedgerDatabase;
  readonly #group: (work: () => void) => void;

  constructor(database: LedgerDatabase, group: (work: () => void) => void) {
    this.#database = database;
    this.#group = group;
  }

  /** Rebuilds the drawers' full text and verifies it before the commit. Other indexes of words are rebuilt when the broker is idle. */
  words(): void {
    this.#group(() => {
      this.#database.exec(`
        INSERT INTO drawer_fts (drawer_fts) VALUES ('rebuild');
        INSERT INTO drawer_fts (drawer_fts, rank) VALUES ('integrity-check', 1);
        INSERT INTO form_fts (form_fts) VALUES ('delete-all');
        DELETE FROM meta WHERE key = '${FORMS_KEY}';
        INSERT OR IGNORE INTO source_dirty
          SELECT source_file FROM drawer WHERE source_file <> '' UNION SELECT source_file FROM source;`);
    });
  }

  /** Counts the drawers of each room and day again, and adds missing drawers to the embedding backlog. Returns the corrections. */
  counts(): { places: number; forgotten: number } {
    const found = { places: 0, forgotten: 0 };
    this.#group(() => {
      const sql = `WITH truth AS (SELECT wing, room, count(*) AS drawers FROM drawer GROUP BY wing, room)
        SELECT count(*) FROM (SELECT * FROM (SELECT wing, room, drawers FROM place EXCEPT SELECT * FROM truth)
          UNION SELECT * FROM (SELECT * FROM truth EXCEPT SELECT wing, room, drawers FROM place))`;
      found.places = selectValue<number>(this.#database, sql) ?? 0;
      this.#database.exec(
        `DELETE FROM place; INSERT INTO place SELECT wing, room, count(*) FROM drawer GROUP BY wing, room;
         DELETE FROM growth; ${GROWTH_COUNTED}`,
      );
      this.#database.exec(`DELETE FROM vector WHERE row NOT IN (SELECT row FROM drawer);
        DELETE FROM vector_code WHERE row NOT IN (SELECT row FROM vector)`);
      found.forgotten = this.#database
        .prepare(
          `INSERT OR IGNORE INTO pending_embedding SELECT row FROM drawer d
             WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row)`,
        )
        .run().changes;
    });
    return found;
  }

  /** Corrects quantized vectors after `afterRow`. Returns the corrected rows, and the row to continue after; 0 if all are done. */
  codes(afterRow: number): { written: number[]; next: number } {
    const written: number[] = [];
    let next = 0;
    this.#group(() => {
      const rows = this.#database
        .prepare<[number, number], { row: number; vector: Buffer; code: Buffer | null; scale: number | null }>(
          `SELECT v.row, v.vector, c.code, c.scale FROM vector v LEFT JOIN vector_code c ON c.row = v.row
             WHERE v.row > ? ORDER BY v.row LIMIT ?`,
        )
        .all(afterRow, CODES_PER_STEP);
      const put = this.#database.prepare("INSERT OR REPLACE INTO vector_code VALUES (?, ?, ?)");
      for (const { row, vector, code, scale } of rows) {
        const right = quantize(toFloats(vector));
        const bytes = bytesOf(right);
        if (code !== null && scale === right.scale && bytes.equals(code)) continue;
        put.run(row, bytes, right.scale);
        written.push(row);
      }
      next = rows.length < CODES_PER_STEP ? 0 : (rows.at(-1)?.row ?? 0);
    });
    return { written, next };
  }
}
