/** Removes forgotten words from imported journal rows and from their before-images. */
import { isColumns, isTexts, readColumn } from "../json-column.ts";
import type { LedgerDatabase } from "../open.ts";
import { digest } from "../record.ts";
import { IMPORTED_BODY, IMPORTED_ID } from "../schema/imported-schema.ts";

export type Written = { method: string; arguments: string; result: string };
/** Removes the forgotten words from an imported journal row. */
export type Cleaner = {
  /** Returns a row's result without the forgotten words; undefined for a row without these words. `made`: ids of changed drawers. */
  cleanRow: (row: Written, made: readonly string[]) => string | undefined;
  /** Returns the name of the memory from which a row came without the forgotten words. */
  cleanName: (text: string) => string;
};

type Row = Written & { row: number; source: string; drawers: string };

/** Cleans the imported journal rows. Returns the number of changed rows. */
export function cleanImported(database: LedgerDatabase, { cleanRow, cleanName }: Cleaner): number {
  const dirty: { row: number; source: string; result: string; isForgotten: boolean }[] = [];
  const rows = database.prepare<[], Row>(
    "SELECT row, source, method, arguments, result, drawers FROM imported_journal",
  );
  for (const row of rows.iterate()) {
    const result = cleanRow(row, readColumn("imported_journal.drawers", row.drawers, isTexts));
    const source = cleanName(row.source);
    if (result !== undefined || source !== row.source)
      dirty.push({ row: row.row, source, result: result ?? row.result, isForgotten: result !== undefined });
  }
  const named = database.prepare("UPDATE imported_journal SET source = ? WHERE row = ?");
  const forgotten = database.prepare(
    `UPDATE imported_journal SET fingerprint = '', arguments = '{"forgotten":true}', result = ? WHERE row = ?`,
  );
  const state = database.prepare<[number], { id: string; body: string }>(
    `SELECT ${IMPORTED_ID} AS id, ${IMPORTED_BODY} AS body FROM imported_journal WHERE row = ?`,
  );
  // Undo of the import removes a row only if the row's digest is the recorded one, so the record gets the cleaned row's digest.
  const left = database.prepare("UPDATE change SET after = ? WHERE kind = 'imported' AND id = ? AND after IS NOT NULL");
  for (const { row, source, result, isForgotten } of dirty) {
    named.run(source, row);
    if (isForgotten) forgotten.run(result, row);
    const now = state.get(row);
    if (now !== undefined) left.run(digest(now.body), now.id);
  }
  return dirty.length;
}

/** Deletes before-images that an undo of an import made and that have forgotten words. The import can still be undone. */
export function cleanImportedImages(database: LedgerDatabase, { cleanRow, cleanName }: Cleaner): number {
  const images = database.prepare<[], { journal: number; id: string; before: string }>(
    "SELECT journal, id, before FROM change WHERE kind = 'imported' AND before IS NOT NULL",
  );
  const dirty: { journal: number; id: string }[] = [];
  for (const { journal, id, before } of images.iterate()) {
    const [source = "", , , , method = "", , , , , , given = "{}", result = "null", drawers = "[]"] = readColumn(
      "change.before",
      before,
      isColumns,
    ) as string[];
    const made = readColumn("change.before", drawers, isTexts);
    const isHeld = cleanRow({ method, arguments: given, result }, made) !== undefined;
    if (isHeld || cleanName(source) !== source) dirty.push({ journal, id });
  }
  const remove = database.prepare("DELETE FROM change WHERE journal = ? AND kind = 'imported' AND id = ?");
  for (const { journal, id } of dirty) remove.run(journal, id);
  return dirty.length;
}
