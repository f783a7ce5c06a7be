/**
 * What a MemPalace that was killed in a transaction leaves beside its database: a journal that still must be rolled back.
 * SQLite does it for whoever opens the file next for writing. MemPalace 3.11 first opens it for reading only, fails ("attempt
 * to write a readonly database"), takes that for damage and refuses every call from then on. So it is opened once, by us,
 * between two children: nobody else writes then.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../platform/log.ts";

const BUSY_MAX_MS = 2_000;

/** Only with the child's lock held. A palace of another kind has no such files; what fails is the child's to report. */
export async function rollBackJournals(palaceDir: string, log: Log): Promise<void> {
  for (const name of ["chroma.sqlite3", "knowledge_graph.sqlite3"]) {
    const file = join(palaceDir, name);
    if (!existsSync(file) || !existsSync(`${file}-journal`)) continue;
    try {
      const { default: Database } = await import("better-sqlite3");
      const database = new Database(file, { fileMustExist: true, timeout: BUSY_MAX_MS });
      try {
        // Any write lock makes SQLite look at the journal; nothing is changed.
        database.exec("BEGIN IMMEDIATE; ROLLBACK");
      } finally {
        database.close();
      }
      log.info("an unfinished transaction was rolled back", { file });
    } catch (error) {
      log.warn("an unfinished transaction was not rolled back", { file, why: String(error) });
    }
  }
}
