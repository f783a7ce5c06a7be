/** Reads the texts and names of drawers for scoring. */
import type { Database } from "better-sqlite3";
import type { Named } from "./names.ts";
import type { CountedDrawer } from "./tokens.ts";

/** `source`: row of the drawer's source. `sizes`: see `documentLength`. */
export type DrawerText = { row: number; source: number | null; sizes: string } & CountedDrawer & Named;

/** Prepares the reading of rows, in no order. Unless `withTexts`, `text` is "" for a drawer without a row in `form_fts`. */
export function prepareTexts(ledger: Database): (rows: readonly number[], withTexts?: boolean) => DrawerText[] {
  const read = ledger.prepare<[number, string], DrawerText>(
    `SELECT drawer.row, iif(? OR form_fts_docsize.id IS NOT NULL, drawer.text, '') AS text,
       drawer.date_words AS dateWords, coalesce(heading.text, '') AS headings,
       source.row AS source, hex(drawer_fts_docsize.sz) AS sizes,
       drawer.source_file AS sourceFile, drawer.wing, drawer.room, form_fts_docsize.id IS NOT NULL AS hasForms
     FROM drawer JOIN drawer_fts_docsize ON drawer_fts_docsize.id = drawer.row
     LEFT JOIN form_fts_docsize ON form_fts_docsize.id = drawer.row
     LEFT JOIN heading ON heading.row = drawer.row
     LEFT JOIN source ON source.source_file = drawer.source_file
     WHERE drawer.row IN (SELECT value FROM json_each(?))`,
  );
  return (rows, withTexts = true) => read.all(withTexts ? 1 : 0, JSON.stringify(rows));
}
