/** Reads an existing Chroma palace without Chroma, page by page, so that a writer of the palace never waits long. */
import { join } from "node:path";
import type { Metadata, Scalar } from "../../memory/port/drawer.ts";
import type { ChromaCollection, ChromaDatabase } from "./chroma-file.ts";
import {
  applyRecord,
  DOCUMENT_KEY,
  OPERATION,
  parseQueueRow,
  type QueueRecord,
  type QueueRow,
  setKey,
} from "./queue.ts";
import { openSegment, type Segment } from "./segment.ts";
import { selectRow, selectRows, selectValue, selectValues } from "../../memory/ledger/select.ts";

export type PalaceRow = { row: number; seq: number; id: string; text: string; metadata: Metadata };

/** Number of rows of Chroma's queue in one read, without their vectors. */
const QUEUE_PAGE = 5_000;
/** Limit of a valid `max_seq_id`. A known fault of upstream writes larger, meaningless numbers (palace.md 10.5). */
export const SEQ_MAX = 2 ** 53;

export function topicOf({ id }: Pick<ChromaCollection, "id">): string {
  return `persistent://default/default/${id}`;
}

/** Returns the number of the last record that a segment has applied; undefined if it is missing or invalid. */
export function readMark(database: ChromaDatabase, segment: string): number | undefined {
  const mark = seqOf(selectValue(database, "SELECT seq_id FROM max_seq_id WHERE segment_id = ?", segment));
  return mark === undefined || mark >= SEQ_MAX ? undefined : mark;
}

export function countRows(database: ChromaDatabase, { metadataSegment }: ChromaCollection): number {
  const sql = "SELECT count(*) FROM embeddings WHERE segment_id = ?";
  return selectValue<number>(database, sql, metadataSegment) ?? 0;
}

export function presentIds(
  database: ChromaDatabase,
  { metadataSegment }: ChromaCollection,
  ids: readonly string[],
): Set<string> {
  const sql = `SELECT embedding_id FROM embeddings
    WHERE segment_id = ? AND embedding_id IN (SELECT value FROM json_each(?))`;
  return new Set(selectValues<string>(database, sql, metadataSegment, JSON.stringify(ids)));
}

/** Number of rows in one read. A writer of the palace then waits at most one or two milliseconds. */
const COUNT_PAGE_ROWS = 500;

/** Counts rows with numbers that JavaScript changes: integers beyond 2^53, and whole floating-point numbers (1.0 becomes 1). */
export function countInexact(database: ChromaDatabase, { metadataSegment }: ChromaCollection): number {
  const tables = ["embedding_metadata", ...(hasLists(database) ? ["embedding_metadata_array"] : [])];
  const found = tables.map(
    (table) => `SELECT id FROM ${table} WHERE id BETWEEN @first AND @last AND (
      int_value NOT BETWEEN ${-Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}
      OR float_value = round(float_value) AND key <> 'source_mtime')`,
  );
  const count = database
    .prepare<{ first: number; last: number; segment: string }, number>(
      `SELECT count(*) FROM embeddings WHERE segment_id = @segment AND id BETWEEN @first AND @last AND id IN (${found.join(" UNION ")})`,
    )
    .pluck();
  const page = database
    .prepare<[string, number, number], number>(
      "SELECT id FROM embeddings WHERE segment_id = ? AND id > ? ORDER BY id LIMIT ?",
    )
    .pluck();
  let total = 0;
  for (let last = -1; ;) {
    const ids = page.all(metadataSegment, last, COUNT_PAGE_ROWS);
    const [first] = ids;
    if (first === undefined) return total;
    last = ids.at(-1) ?? first;
    total += count.get({ first, last, segment: metadataSegment }) ?? 0;
  }
}

function hasLists(database: ChromaDatabase): boolean {
  return selectRow(database, "SELECT 1 FROM sqlite_master WHERE name = 'embedding_metadata_array'") !== undefined;
}

export function lastRow(database: ChromaDatabase, { metadataSegment }: ChromaCollection): number {
  const sql = "SELECT max(id) FROM embeddings WHERE segment_id = ?";
  return selectValue<number | null>(database, sql, metadataSegment) ?? 0;
}

export function readIds(
  database: ChromaDatabase,
  { metadataSegment }: ChromaCollection,
  offset: number,
  limit: number,
): string[] {
  const sql = "SELECT embedding_id FROM embeddings WHERE segment_id = ? ORDER BY id LIMIT ? OFFSET ?";
  return selectValues<string>(database, sql, metadataSegment, limit, offset);
}

export function readRows(
  database: ChromaDatabase,
  { metadataSegment }: ChromaCollection,
  afterRow: number,
  limit: number,
): PalaceRow[] {
  const sql = `SELECT e.id AS row, e.embedding_id AS id, e.seq_id AS seq FROM embeddings e
    WHERE e.id > ? AND e.segment_id = ? ORDER BY e.id LIMIT ?`;
  const rows = selectRows<{ row: number; id: string; seq: unknown }>(database, sql, afterRow, metadataSegment, limit);
  return withContent(database, rows);
}

export function readRowsById(
  database: ChromaDatabase,
  { metadataSegment }: ChromaCollection,
  ids: readonly string[],
): PalaceRow[] {
  const rows = database
    .prepare<[string, string], { row: number; id: string; seq: unknown }>(
      `SELECT e.id AS row, e.embedding_id AS id, e.seq_id AS seq FROM embeddings e
         WHERE e.segment_id = ? AND e.embedding_id IN (SELECT value FROM json_each(?)) ORDER BY e.id`,
    )
    .all(metadataSegment, JSON.stringify(ids));
  return withContent(database, rows);
}

type Value = {
  row: number;
  key: string;
  text: string | null;
  integer: number | null;
  real: number | null;
  bool: number | null;
};

function withContent(
  database: ChromaDatabase,
  rows: readonly { row: number; id: string; seq: unknown }[],
): PalaceRow[] {
  const ids = JSON.stringify(rows.map(({ row }) => row));
  const sql = `SELECT m.id AS row, key, string_value AS text, int_value AS integer, float_value AS real, bool_value AS bool
    FROM embedding_metadata m WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id, key`;
  const values = selectRows<Value>(database, sql, ids);
  const found = new Map<number, PalaceRow>(
    rows.map(({ row, id, seq }) => [row, { row, id, seq: seqOf(seq) ?? 0, text: "", metadata: {} }]),
  );
  for (const one of values) {
    const entry = found.get(one.row);
    if (entry === undefined) continue;
    const value = scalarOf(one);
    if (one.key === DOCUMENT_KEY) entry.text = one.text ?? "";
    else if (value !== undefined) setKey(entry.metadata, one.key, value);
  }
  for (const one of listValues(database, ids)) {
    const metadata = found.get(one.row)?.metadata;
    const value = scalarOf(one);
    if (metadata === undefined || value === undefined) continue;
    const list = Object.hasOwn(metadata, one.key) ? metadata[one.key] : undefined;
    if (Array.isArray(list)) list.push(value);
    else setKey(metadata, one.key, [value]);
  }
  return [...found.values()];
}

/** Reads the values of lists in the order in which they were written. An older Chroma has no lists. */
function listValues(database: ChromaDatabase, ids: string): Value[] {
  if (!hasLists(database)) return [];
  const sql = `SELECT m.id AS row, key, string_value AS text, int_value AS integer, float_value AS real, bool_value AS bool
    FROM embedding_metadata_array m WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.rowid`;
  return selectRows<Value>(database, sql, ids);
}

/** Returns the value, which is in one of four columns. Drops an infinity, which JSON cannot express. */
function scalarOf({ text, integer, real, bool }: Value): Scalar | undefined {
  const value = text ?? integer ?? real ?? (bool === null ? undefined : bool !== 0);
  return typeof value === "number" && !Number.isFinite(value) ? undefined : value;
}

/** Reads a sequence number. Old files have 8 big-endian bytes, the oldest have 0x11 0x11 and digits (palace.md 4.3). */
export function seqOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (!Buffer.isBuffer(value)) return undefined;
  if (value[0] === 0x11 && value[1] === 0x11) {
    const digits = value.subarray(2).toString("latin1");
    return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
  }
  return value.length === 8 ? Number(value.readBigUInt64BE()) : undefined;
}

/** Returns the rows that Chroma's queue changes, as they will be after Chroma has applied its queue; undefined for a deleted row. */
export function readTail(
  database: ChromaDatabase,
  collection: ChromaCollection,
): { rows: Map<string, PalaceRow | undefined>; unreadable: number } {
  const mark = readMark(database, collection.metadataSegment) ?? 0;
  const sql = `SELECT seq_id AS seq, operation, id, vector, encoding, metadata FROM embeddings_queue
    WHERE topic = ? AND seq_id > ? ORDER BY seq_id`;
  const queued = selectRows<QueueRow>(database, sql, topicOf(collection), mark);
  const records = queued.flatMap((row) => parseQueueRow(row) ?? []);
  const before = readRowsById(database, collection, [...new Set(records.map(({ id }) => id))]);
  const rows = new Map<string, PalaceRow | undefined>(before.map((row) => [row.id, row]));
  for (const record of records) {
    const known = rows.get(record.id);
    const next = applyRecord(known, record);
    rows.set(record.id, next && { row: known?.row ?? 0, seq: record.seq, id: record.id, ...next });
  }
  return { rows, unreadable: queued.length - records.length };
}

export class PalaceVectors {
  readonly #database: ChromaDatabase;
  readonly #segment: Segment;
  /** For each id: number of the queue's row with the newest vector; null if the id was deleted after the index was written. */
  readonly #queued = new Map<string, number | null>();
  /** Reason why an existing index cannot be read; undefined if it can. */
  readonly torn: string | undefined;

  constructor(database: ChromaDatabase, palaceDir: string, collection: ChromaCollection) {
    this.#database = database;
    const mark = readMark(database, collection.vectorSegment);
    this.#segment = openSegment(join(palaceDir, collection.vectorSegment));
    if (this.#segment.state === "torn") this.torn = this.#segment.why;
    else if (this.#segment.state === "absent" && mark !== undefined) this.torn = "its files are gone";
    this.#readQueue(collection, mark ?? 0);
  }

  /** Returns the vector as it was supplied; a vector from the index is normalised. */
  vector(id: string): Float32Array | undefined {
    const seq = this.#queued.get(id);
    if (seq === null) return undefined;
    if (seq === undefined) return this.#segment.state === "whole" ? this.#segment.vector(id) : undefined;
    const sql =
      "SELECT seq_id AS seq, operation, id, vector, encoding, NULL AS metadata FROM embeddings_queue WHERE seq_id = ?";
    const row = selectRow<QueueRow>(this.#database, sql, seq);
    return row === undefined ? undefined : parseQueueRow(row)?.vector;
  }

  close(): void {
    if (this.#segment.state === "whole") this.#segment.close();
  }

  #readQueue(collection: ChromaCollection, mark: number): void {
    const next = this.#database.prepare<
      [string, number, number],
      Pick<QueueRecord, "seq" | "operation" | "id"> & { has: number }
    >(
      `SELECT seq_id AS seq, operation, id, vector IS NOT NULL AS has FROM embeddings_queue
         WHERE topic = ? AND seq_id > ? ORDER BY seq_id LIMIT ?`,
    );
    for (let after = mark; ;) {
      const page = next.all(topicOf(collection), after, QUEUE_PAGE);
      if (page.length === 0) return;
      after = page.at(-1)?.seq ?? after;
      for (const { seq, operation, id, has } of page) {
        if (operation === OPERATION.delete) this.#queued.set(id, null);
        else if (has === 1 && !(operation === OPERATION.add && this.#has(id))) this.#queued.set(id, seq);
      }
    }
  }

  #has(id: string): boolean {
    const seq = this.#queued.get(id);
    return seq === undefined ? this.#segment.state === "whole" && this.#segment.ids.has(id) : seq !== null;
  }
}
