/** Tests whether the public palace is usable: it has all tables, and a row can be written, read and deleted. Rolls everything back. */
import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { filesError } from "../driver/files/files-error.ts";
import { requireSchema } from "../driver/files/palace-writer.ts";
import { chromaFile } from "../format/chroma-file.ts";

const BUSY_TIMEOUT_MS = 5_000;
const PROBE = "palace-probe";
/** Matches errors that the machine causes. They do not mean that the palace is unusable. */
const PASSING = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PERM|NOMEM)/;

/** Returns why the palace is unusable; undefined if it is usable or does not exist. Errors: STORE_UNAVAILABLE. */
export function probePalace(palaceDir: string): string | undefined {
  const file = chromaFile(palaceDir);
  if (!existsSync(file)) return undefined;
  try {
    const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      requireSchema(database, file);
      database.exec("BEGIN IMMEDIATE");
      const put = "INSERT INTO embeddings_queue (operation, topic, id, metadata) VALUES (3, ?, ?, '{}')";
      database.prepare(put).run(PROBE, PROBE);
      const found = database.prepare("SELECT 1 FROM embeddings_queue WHERE topic = ?").get(PROBE) !== undefined;
      const { changes } = database.prepare("DELETE FROM embeddings_queue WHERE topic = ?").run(PROBE);
      database.exec("ROLLBACK");
      return found && changes === 1 ? undefined : "a row that was written there cannot be read";
    } finally {
      database.close();
    }
  } catch (error) {
    if (PASSING.test(String((error as { code?: unknown }).code))) throw filesError(error, file);
    return (error as Error).message;
  }
}
