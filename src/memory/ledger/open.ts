/** Opens the ledger for its one writer or for a reader. */
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
 * Opens the ledger for writing. Creates it if it does not exist, and never changes a damaged file. Errors: STORE_CORRUPT, STORE_READ_ONLY,
 * STORE_DISK_FULL, PROTOCOL_VERSION_MISMATCH.
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

/** The writer must have opened the ledger before, because a reader does not migrate it. */
export function openForReading(file: string): LedgerDatabase {
  return translated(file, () => {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    database.pragma("query_only = 1");
    database.pragma(`cache_size = -${READ_CACHE_KIB}`);
    return database;
  });
}

/**
 * Creates a ledger under another name and then renames it, so that `file` is always complete. Errors: STORE_CORRUPT if the log of a lost
 * ledger exists, because SQLite would write that log into the new ledger.
 */
function make(file: string): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw damaged(`${file} is gone, and its log ${file}-wal is still there`, RESTORE_HINT);
  keepFolder(dirname(file));
  const begun = `${file}.new`;
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(begun + suffix, { force: true });
  // The mode keeps the file private, and also SQLite's log, which gets the same mode: other users may be able to read the folder.
  closeSync(openSync(begun, "a", 0o600));
  const database = new Database(begun);
  try {
    // Must be set while the file is empty. Without it SQLite cannot free single pages (sqlite.org/pragma.html#pragma_auto_vacuum).
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
  // In this mode SQLite does not sync the log at a commit, so the writer syncs it after each acknowledged commit (Source:
  // sqlite.org/pragma.html#pragma_synchronous). The setting is lost when the connection closes.
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
  makeIndex(database);
  database.prepare("SELECT count(*) FROM place").get();
}

/** On a full disk, the ledger opens without this index. */
function makeIndex(database: LedgerDatabase): void {
  try {
    database.exec(GONE_INDEX);
  } catch (error) {
    if (!/^SQLITE_(?:FULL|IOERR)/.test(String((error as { code?: unknown }).code))) throw error;
  }
}

const STORE_ERRORS: readonly [RegExp, (file: string, cause: unknown) => PalaceError][] = [
  [
    /^SQLITE_(CORRUPT|NOTADB|FORMAT)/,
    (file, cause) => damaged(`${file} is damaged; it was left as it is`, RESTORE_HINT, cause),
  ],
  [
    /^E(NOSPC|DQUOT)$|^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE|SHMSIZE|SHMMAP))/,
    (_file, cause) =>
      new PalaceError(
        "STORE_DISK_FULL",
        "the disk is full; nothing was written",
        "free some space and repeat the call",
        { cause },
      ),
  ],
  [
    /^E(ACCES|PERM|ROFS)$/,
    (file, cause) =>
      unwritable(
        `${dirname(file)} cannot be written`,
        "make the folder writable for this user and run `palace restart`",
        cause,
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

/** Translates SQLite's and the file system's errors into PalaceErrors. Returns any other error as it is. */
export function translateError(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof PalaceError || typeof code !== "string") return error;
  return STORE_ERRORS.find(([pattern]) => pattern.test(code))?.[1](file, error) ?? error;
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
