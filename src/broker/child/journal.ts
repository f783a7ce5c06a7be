/**
 * Rolls back the journal that a killed MemPalace leaves beside its database. SQLite does this when a process opens the file for writing.
 * MemPalace 3.11 first opens it read-only, fails ("attempt to write a readonly database"), assumes damage and refuses every later call. So
 * the broker opens the file once between two children, when nobody else writes.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../base/log.ts";

const BUSY_MAX_MS = 2_000;

/** Rolls back the journals of both databases, if they exist. Needs the child's lock. Only logs a failure, because the child reports it. */
export async function rollBackJournals(palaceDir: string, log: Log): Promise<void> {
  for (const name of ["chroma.sqlite3", "knowledge_graph.sqlite3"]) {
    const file = join(palaceDir, name);
    if (!existsSync(file) || !existsSync(`${file}-journal`)) continue;
    try {
      const { default: Database } = await import("better-sqlite3");
      const database = new Database(file, { fileMustExist: true, timeout: BUSY_MAX_MS });
      try {
        // Any write lock makes SQLite roll back a leftover journal. The empty transaction itself changes nothing.
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
