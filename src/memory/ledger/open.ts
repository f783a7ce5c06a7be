/** Opens the ledger for its one writer or for a reader. Called from the broker's threads only. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../base/fault-point.ts";
import { keepFolder, syncPath } from "../../base/folders.ts";
import { damaged, PalaceError, unavailable, unwritable } from "../../base/errors.ts";
import { RESTORE_HINT } from "./json-column.ts";
import { GONE_INDEX } from "./schema/hygiene-schema.ts";
import { APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION } from "./schema/schema.ts";

export type LedgerDatabase = Database.Database;

const READ_CACHE_KIB = 32 * 1024;
const WRITE_CACHE_KIB = 64 * 1024;

/**
 * Opens the ledger for writing, and makes it if it does not exist. A damaged file stays exactly as it is. Errors: STORE_CORRUPT,
 * STORE_READ_ONLY, STORE_DISK_FULL, PROTOCOL_VERSION_MISMATCH.
 */
export function openForWriting(file: string): LedgerDatabase {
  return translated(file, () => {
    if (!existsSync(file)) make(file);
    const database = new Database(file);
    try {
      prepare(database, file);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  });
}

/** Opens a read-only connection. The writer must have opened the ledger before. */
export function openForReading(file: string): LedgerDatabase {
  return translated(file, () => {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    database.pragma("query_only = 1");
    database.pragma(`cache_size = -${READ_CACHE_KIB}`);
    return database;
  });
}

/**
 * Makes an empty ledger under another name and renames it when it is complete, so that `file` is never half made. Errors: STORE_CORRUPT if
 * the log of a lost ledger exists, because SQLite would write that log into the new ledger.
 */
function make(file: string): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw damaged(`${file} is gone, and its log ${file}-wal is still there`, RESTORE_HINT);
  keepFolder(dirname(file));
  const begun = `${file}.new`;
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(begun + suffix, { force: true });
  // Makes the file private, and thereby SQLite's log, which gets the file's mode: other users may be able to read the folder.
  closeSync(openSync(begun, "a", 0o600));
  const database = new Database(begun);
  try {
    // Must be set before the file has any content. Without it SQLite cannot free pages step by step
    // (sqlite.org/pragma.html#pragma_auto_vacuum).
    database.pragma("auto_vacuum = INCREMENTAL");
    database.transaction(() => {
      database.pragma(`application_id = ${APPLICATION_ID}`);
      database.exec(SCHEMA);
      database.pragma(`user_version = ${SCHEMA_VERSION}`);
    })();
  } finally {
    database.close();
  }
  syncPath(begun);
  faultPoint("ledger.before-place");
  renameSync(begun, file);
  syncPath(dirname(file));
}

function prepare(database: LedgerDatabase, file: string): void {
  if (statSync(file).size === 0) throw damaged(`${file} is empty, and no palace begins in its place`, RESTORE_HINT);
  if (database.pragma("application_id", { simple: true }) !== APPLICATION_ID) {
    throw damaged(`${file} is not a palace ledger`, RESTORE_HINT);
  }
  database.pragma("journal_mode = WAL");
  // SQLite itself syncs the log only before it overwrites the log and before a checkpoint. The writer therefore syncs after each
  // acknowledged commit (Source: sqlite.org/pragma.html#pragma_synchronous). The setting is per connection, so set it at every open.
  database.pragma("synchronous = NORMAL");
  database.pragma("foreign_keys = OFF");
  database.pragma("temp_store = MEMORY");
  database.pragma(`cache_size = -${WRITE_CACHE_KIB}`);
  const version = database.pragma("user_version", { simple: true }) as number;
  if (version > SCHEMA_VERSION) {
    throw new PalaceError(
      "PROTOCOL_VERSION_MISMATCH",
      `${file} was written by a newer palace-devbox (schema ${version}, this one knows ${SCHEMA_VERSION})`,
      "update palace-devbox to the version that wrote it",
    );
  }
  for (let from = version; from < SCHEMA_VERSION; from++) {
    database.transaction(() => {
      database.exec(MIGRATIONS[from] ?? "");
      database.pragma(`user_version = ${from + 1}`);
    })();
  }
  database.exec(GONE_INDEX);
  database.prepare("SELECT count(*) FROM place").get();
}

const SQLITE_ERRORS: readonly [RegExp, (file: string, cause: unknown) => PalaceError][] = [
  [
    /^SQLITE_(CORRUPT|NOTADB|FORMAT)/,
    (file, cause) => damaged(`${file} is damaged; it was left as it is`, RESTORE_HINT, cause),
  ],
  [
    /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE|SHMSIZE|SHMMAP))/,
    (_file, cause) =>
      new PalaceError(
        "STORE_DISK_FULL",
        "the disk is full; nothing was written",
        "free some space and repeat the call",
        { cause },
      ),
  ],
  [
    /^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/,
    (file, cause) =>
      unwritable(
        `${file} cannot be written; reads go on`,
        "make its folder writable for this user and run `palace restart`",
        cause,
      ),
  ],
  [
    /^SQLITE_(BUSY|LOCKED)/,
    (file, cause) => unavailable(`${file} is locked by another process`, "close that process and repeat", cause),
  ],
  [
    /^SQLITE_IOERR/,
    (file, cause) =>
      unavailable(`reading or writing ${file} failed`, "look at the disk, then run `palace restart`", cause),
  ],
];

/** Translates SQLite's errors into PalaceErrors; other errors pass through. */
export function translateError(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof PalaceError || typeof code !== "string") return error;
  if (/^E(NOSPC|DQUOT)$/.test(code))
    return new PalaceError(
      "STORE_DISK_FULL",
      "the disk is full; nothing was written",
      "free some space and repeat the call",
      { cause: error },
    );
  if (/^E(ACCES|PERM|ROFS)$/.test(code))
    return unwritable(
      `${dirname(file)} cannot be written`,
      "make the folder writable for this user and run `palace restart`",
      error,
    );
  return SQLITE_ERRORS.find(([pattern]) => pattern.test(code))?.[1](file, error) ?? error;
}

function translated<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const known = translateError(error, file);
    if (known instanceof PalaceError) throw known;
    throw unavailable(`cannot open the ledger ${file}`, "run `palace logs`", error);
  }
}
