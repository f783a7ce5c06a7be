/** Reads chroma.sqlite3 while others may be using it (palace.md 4.2-4.5). Uses no transactions, because a long one would block writers. */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { unavailable } from "../../base/errors.ts";
import { selectRows, selectValue, selectValues } from "../../memory/ledger/select.ts";
import { orElse } from "../../base/or-else.ts";

export type ChromaDatabase = Database.Database;

export type ChromaCollection = { id: string; name: string; metadataSegment: string; vectorSegment: string };

export const DEFAULT_DATABASE = "00000000-0000-0000-0000-000000000000";

/** Offset of a SQLite file's format version, which is 2 with a write-ahead log (sqlite.org/fileformat). */
const FORMAT_AT = 18;
const FORMAT_WAL = 2;
/** Offset of the number of elements in header.bin, after i32 version, u64 offset and u64 capacity (palace.md 4.5). */
const ELEMENTS_AT = 20;

export function chromaFile(palaceDir: string): string {
  return join(palaceDir, "chroma.sqlite3");
}

/** Calls `read` with a connection; undefined if no palace exists. `busyTimeoutMs`: maximum wait of a statement for other processes. */
export function readChroma<T>(
  palaceDir: string,
  busyTimeoutMs: number,
  read: (database: ChromaDatabase) => T,
): T | undefined {
  const database = openChroma(palaceDir, busyTimeoutMs);
  try {
    return database && read(database);
  } finally {
    database?.close();
  }
}

/** Opens a connection, which the caller closes; undefined if no palace exists. Errors: STORE_UNAVAILABLE for a closed file in WAL mode. */
export function openChroma(palaceDir: string, busyTimeoutMs: number): ChromaDatabase | undefined {
  const file = chromaFile(palaceDir);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  if (isClosedWal(palaceDir))
    throw unavailable(
      `${file}: its database is in WAL mode and closed, so reading it would create files there`,
      "a broker that writes the palace opens it: palace import adopt DIR, without --dry-run",
    );
  return new Database(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
}

/** Returns true for a closed file in WAL mode. Even reading would create files beside it. */
export function isClosedWal(palaceDir: string): boolean {
  const file = chromaFile(palaceDir);
  return existsSync(file) && readBytes(file, FORMAT_AT, 1)[0] === FORMAT_WAL && !existsSync(`${file}-shm`);
}

/** Collection in which upstream keeps its drawers (palace.md 4.1). */
export const DRAWERS = "mempalace_drawers";
/** Collection of upstream's closets. Its name cannot be configured. */
export const CLOSETS = "mempalace_closets";

/** Returns the number of the last write to the palace, by any process and to any collection; 0 before the first. */
export function readHead(database: ChromaDatabase): number {
  if (!hasTables(database)) return 0;
  return selectValue<number | null>(database, "SELECT max(seq_id) FROM embeddings_queue") ?? 0;
}

/** Returns the collections, first those of Chroma's default database, which MemPalace uses. */
export function readCollections(database: ChromaDatabase): ChromaCollection[] {
  if (!hasTables(database)) return [];
  const sql = `SELECT c.id, c.name, m.id AS metadataSegment, v.id AS vectorSegment FROM collections c
    JOIN segments m ON m.collection = c.id AND m.scope = 'METADATA'
    JOIN segments v ON v.collection = c.id AND v.scope = 'VECTOR' ORDER BY c.database_id <> ?, c.name, c.id`;
  return selectRows<ChromaCollection>(database, sql, DEFAULT_DATABASE);
}

/** Returns true if Chroma has created its tables here, or if the file cannot be read. */
export function isMadeByChroma(palaceDir: string): boolean {
  return orElse(() => readChroma(palaceDir, 0, hasTables) ?? false, true);
}

/** Returns true if the palace has the collection, if no collection is given, or if the file cannot be read. */
export function mayHold(palaceDir: string, collectionId: string | undefined): boolean {
  if (collectionId === undefined) return true;
  return orElse(() => readChroma(palaceDir, 0, readCollections)?.some(({ id }) => id === collectionId) ?? false, true);
}

/** Counts rows that the index on disk should have but lacks: rows up to its `max_seq_id`. The queue has the later rows. */
export function countUnindexed(database: ChromaDatabase, palaceDir: string, collection: ChromaCollection): number {
  const markSql = "SELECT seq_id FROM max_seq_id WHERE segment_id = ?";
  const mark = selectValue<number>(database, markSql, collection.vectorSegment);
  if (mark === undefined) return countBeforeQueue(database, collection);
  const sql = "SELECT count(*) FROM embeddings WHERE segment_id = ? AND seq_id <= ?";
  const rows = selectValue<number>(database, sql, collection.metadataSegment, mark);
  const header = join(palaceDir, collection.vectorSegment, "header.bin");
  const elements = existsSync(header) ? Number(readBytes(header, ELEMENTS_AT, 8).readBigUInt64LE()) : 0;
  return Math.max(0, (rows ?? 0) - elements);
}

/** Counts rows without a vector in a collection without an index: the rows that are older than the collection's queued records. */
function countBeforeQueue(database: ChromaDatabase, { id, metadataSegment }: ChromaCollection): number {
  const firstSql = "SELECT min(seq_id) FROM embeddings_queue WHERE topic LIKE '%/' || ?";
  const first = selectValue<number | null>(database, firstSql, id);
  const sql = "SELECT count(*) FROM embeddings WHERE segment_id = ? AND seq_id < ?";
  return selectValue<number>(database, sql, metadataSegment, first ?? Number.MAX_SAFE_INTEGER) ?? 0;
}

/** Returns true if the palace has its tables. They are missing for a moment after Chroma has created the file. */
function hasTables(database: ChromaDatabase): boolean {
  return missingTables(database).length === 0;
}

export const TABLES = [
  "collections",
  "segments",
  "embeddings",
  "embedding_metadata",
  "embeddings_queue",
  "max_seq_id",
] as const;

/** Returns which of `TABLES` (the tables that every read needs) and of `more` are missing. */
export function missingTables(database: ChromaDatabase, more: readonly string[] = []): string[] {
  const names = [...TABLES, ...more];
  const sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (SELECT value FROM json_each(?))";
  const found = selectValues<string>(database, sql, JSON.stringify(names));
  return names.filter((name) => !found.includes(name));
}

function readBytes(file: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const fd = openSync(file, "r");
  try {
    readSync(fd, bytes, 0, length, position);
    return bytes;
  } finally {
    closeSync(fd);
  }
}
