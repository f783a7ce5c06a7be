/** Erases the bytes of deleted rows from a palace's files on this machine, while none of our writers is active. It can be repeated. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../base/fault-point.ts";
import { syncFile } from "../../base/folders.ts";
import { type ChromaCollection, type ChromaDatabase, chromaFile, readCollections } from "../format/chroma-file.ts";
import { readMark } from "../format/palace-file.ts";
import { DOCUMENT_KEY, OPERATION } from "../format/queue.ts";
import { headerOf, LENGTH_SIZE_BYTES, openSegment, touchIndex } from "../format/segment.ts";
import { selectRow, selectValues } from "../../memory/ledger/select.ts";

/** Maximum time that a rewrite waits for other readers and writers, ms. */
const BUSY_TIMEOUT_MS = 20_000;
const FULL_TEXT = "embedding_fulltext_search";
const WIPE_SIZE_BYTES = 4 * 1024 * 1024;

/** Erases the bytes of these rows. Errors: those of SQLite and of the file system; the caller then erases again. */
export function erasePalace(palaceDir: string, ids: readonly string[]): void {
  const file = chromaFile(palaceDir);
  if (!existsSync(file)) return;
  const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = OFF");
    const collections = readCollections(database);
    if (collections.length === 0) return;
    database.transaction(() => collections.forEach((one) => eraseQueue(database, one, ids))).immediate();
    faultPoint("erase.after-queue");
    for (const one of collections) {
      const folder = join(palaceDir, one.vectorSegment);
      eraseVectors(folder, withoutVectorInUse(database, one, ids));
      eraseUnused(folder);
    }
    if (hasTable(database, FULL_TEXT)) database.exec(`INSERT INTO ${FULL_TEXT} (${FULL_TEXT}) VALUES ('optimize')`);
    faultPoint("erase.before-palace-rewrite");
    rewrite(database);
    faultPoint("erase.after-palace-rewrite");
    for (const { vectorSegment } of collections) touchIndex(join(palaceDir, vectorSegment));
  } finally {
    database.close();
  }
}

/** Returns the ids of the given rows whose text in the palace differs. */
export function findOlder(palaceDir: string, rows: readonly { id: string; text: string }[]): string[] {
  const file = chromaFile(palaceDir);
  if (!existsSync(file)) return [];
  const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return readCollections(database).flatMap(({ metadataSegment }) =>
      database
        .prepare<[string, string, string], string>(
          `SELECT e.embedding_id FROM json_each(?) row
             JOIN embeddings e ON e.segment_id = ? AND e.embedding_id = row.value ->> 'id'
             LEFT JOIN embedding_metadata m ON m.id = e.id AND m.key = ?
             WHERE m.string_value IS NOT row.value ->> 'text'`,
        )
        .pluck()
        .all(JSON.stringify(rows), metadataSegment, DOCUMENT_KEY),
    );
  } finally {
    database.close();
  }
}

export function eraseGraph(file: string): void {
  if (!existsSync(file)) return;
  const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    rewrite(database);
  } finally {
    database.close();
  }
}

/** Erases texts from the queue. For a deleted row the record of its deletion stays, which Chroma needs if its index still has the row. */
function eraseQueue(database: ChromaDatabase, collection: ChromaCollection, ids: readonly string[]): void {
  const among = "id IN (SELECT value FROM json_each(@ids))";
  const living = "id IN (SELECT embedding_id FROM embeddings WHERE segment_id = @segment)";
  database
    .prepare(
      `DELETE FROM embeddings_queue WHERE ${among} AND NOT ${living} AND operation <> ${OPERATION.delete}
         AND topic LIKE '%/' || @id`,
    )
    .run({ ids: JSON.stringify(ids), segment: collection.metadataSegment, id: collection.id });
  // Chroma still needs the vectors of these applied records, but not their texts.
  database
    .prepare(
      `UPDATE embeddings_queue SET metadata = json_remove(metadata, '$."${DOCUMENT_KEY}"')
         WHERE ${among} AND ${living} AND topic LIKE '%/' || @id AND seq_id <= @mark AND json_valid(metadata)
           AND seq_id < (SELECT max(newer.seq_id) FROM embeddings_queue newer WHERE newer.id = embeddings_queue.id)`,
    )
    .run({
      ids: JSON.stringify(ids),
      segment: collection.metadataSegment,
      id: collection.id,
      mark: readMark(database, collection.metadataSegment) ?? 0,
    });
}

/** Returns the ids whose vector in the index is not needed: the row is deleted, or the queue has a newer vector. */
function withoutVectorInUse(database: ChromaDatabase, collection: ChromaCollection, ids: readonly string[]): string[] {
  const sql = `SELECT value FROM json_each(@ids)
    WHERE value NOT IN (SELECT embedding_id FROM embeddings WHERE segment_id = @segment)
      OR value IN (SELECT id FROM embeddings_queue
                     WHERE topic LIKE '%/' || @id AND vector IS NOT NULL AND seq_id > @mark)`;
  return selectValues<string>(database, sql, {
    ids: JSON.stringify(ids),
    segment: collection.metadataSegment,
    id: collection.id,
    mark: readMark(database, collection.vectorSegment) ?? 0,
  });
}

/** Overwrites vectors with zeros, which are far from every vector. Chroma deletes such an entry at the next opening. */
function eraseVectors(folder: string, ids: readonly string[]): void {
  const segment = openSegment(folder);
  if (segment.state !== "whole") return;
  let fd: number | undefined;
  try {
    const zeros = Buffer.alloc(segment.dimensions * Float32Array.BYTES_PER_ELEMENT);
    for (const id of ids) {
      const position = segment.position(id);
      if (position === undefined) continue;
      fd ??= openSync(join(folder, "data_level0.bin"), "r+");
      writeSync(fd, zeros, 0, zeros.length, position);
    }
    if (fd !== undefined) syncFile(fd);
  } finally {
    if (fd !== undefined) closeSync(fd);
    segment.close();
  }
}

/** Erases the unused space in an index's files. Chroma 1.5.9 leaves old bytes of its memory there, perhaps whole texts. */
function eraseUnused(folder: string): void {
  const headerFile = join(folder, "header.bin");
  if (!existsSync(headerFile)) return;
  let header: ReturnType<typeof headerOf>;
  try {
    header = headerOf(readFileSync(headerFile));
  } catch {
    // The driver will move an index with an unreadable header away. `forget` then lists the moved files that contain the text.
    return;
  }
  const { elements, elementSize } = header;
  wipeFrom(join(folder, "data_level0.bin"), elements * elementSize);
  wipeFrom(join(folder, "length.bin"), elements * LENGTH_SIZE_BYTES);
}

/** Overwrites the bytes from `start` to the end with zeros. Parts that are zero already are not written. */
function wipeFrom(file: string, start: number): void {
  if (!existsSync(file)) return;
  const fd = openSync(file, "r+");
  try {
    const bytes = Buffer.alloc(WIPE_SIZE_BYTES);
    const zeros = Buffer.alloc(WIPE_SIZE_BYTES);
    let wiped = false;
    for (let at = start; at < fstatSync(fd).size;) {
      const read = readSync(fd, bytes, 0, bytes.length, at);
      if (read === 0) break;
      if (!bytes.subarray(0, read).equals(zeros.subarray(0, read))) {
        writeSync(fd, zeros, 0, read, at);
        wiped = true;
      }
      at += read;
    }
    if (wiped) syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

function rewrite(database: ChromaDatabase): void {
  database.exec("VACUUM");
  if (database.pragma("journal_mode", { simple: true }) !== "wal") return;
  const [state] = database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
  if (state?.busy !== 0) throw new Error(`${database.name}-wal is being read by another process`);
}

function hasTable(database: ChromaDatabase, name: string): boolean {
  return selectRow(database, "SELECT 1 FROM sqlite_master WHERE name = ?", name) !== undefined;
}
