/** Applies our records, but first other processes' queued records, because Chroma skips all records up to the new `max_seq_id`. */
import type Database from "better-sqlite3";
import { faultPoint } from "../../../base/fault-point.ts";
import { floatBytes } from "../../../memory/ledger/record.ts";
import { isList, type Metadata } from "../../../memory/port/drawer.ts";
import { type PalaceRecord } from "../../../memory/port/public-palace.ts";
import { badValue, damaged } from "../../../base/errors.ts";
import type { ChromaCollection, ChromaDatabase } from "../../format/chroma-file.ts";
import { readMark, topicOf } from "../../format/palace-file.ts";
import { DOCUMENT_KEY, OPERATION, parseQueueRow, type QueueRow } from "../../format/queue.ts";
import { type Column, queueJson, type TypedList, typedList, type TypedValue, typedValue } from "../../format/values.ts";
import { objectionTo, widthError } from "../limits.ts";
import { selectRow, selectRows, selectValue } from "../../../memory/ledger/select.ts";

/** Metadata that upstream stores for a record without metadata, because Chroma stores no empty metadata (palace.md 4.6). */
const NO_METADATA: Metadata = { _repaired_empty_meta: true };

/** SQL that puts a value into Chroma's column for its JSON type. Lists are in a separate table. */
const COLUMNS = `CASE type WHEN 'text' THEN atom END, CASE type WHEN 'integer' THEN atom END,
  CASE type WHEN 'real' THEN atom END, CASE type WHEN 'true' THEN 1 WHEN 'false' THEN 0 END`;

type Typed = { values: TypedValue[]; lists: TypedList[] };

export class Batch {
  readonly #database: ChromaDatabase;
  readonly #collection: ChromaCollection;
  readonly #hasArrays: boolean;
  readonly #floats: ReadonlySet<string>;
  #seq: bigint;
  /** New `max_seq_id` if we cannot apply a foreign record: one less than its number, so that Chroma applies it and all later records. */
  #mark: bigint | undefined;
  #dimensions: number | undefined;

  constructor(database: ChromaDatabase, collection: ChromaCollection, floats: ReadonlySet<string>) {
    this.#floats = floats;
    this.#database = database;
    this.#collection = collection;
    this.#seq = lastSeq(database);
    this.#dimensions =
      selectValue<number | null>(database, "SELECT dimension FROM collections WHERE id = ?", collection.id) ??
      undefined;
    const arrays = "SELECT 1 FROM sqlite_master WHERE name = 'embedding_metadata_array'";
    this.#hasArrays = selectRow(database, arrays) !== undefined;
    this.#applyTail();
  }

  upsert(record: PalaceRecord): void {
    this.#requireWidth(record.vector.length);
    const objection = objectionTo(record, false);
    if (objection !== undefined) throw badValue(`${record.id}: ${objection}`, "");
    const { vector } = record;
    const id = record.id.toWellFormed();
    const text = record.text.toWellFormed();
    const metadata = Object.keys(record.metadata).length === 0 ? NO_METADATA : record.metadata;
    const before = this.#rowOf(id);
    const columns = before === undefined ? new Map<string, Column>() : this.#columns(before);
    const { values, lists } = this.#typed(record, metadata, columns);
    const removed = [...columns.keys()].filter((key) => key !== DOCUMENT_KEY && !Object.hasOwn(metadata, key));
    const json = queueJson(text, [...values, ...lists], removed);
    const seq = this.#log(OPERATION.upsert, id, floatBytes(vector), json);
    faultPoint("files.after-queue");
    if (before !== undefined) this.#clear(before);
    const row = before ?? this.#insert(id, seq);
    if (before !== undefined) this.#run("UPDATE embeddings SET seq_id = ? WHERE id = ?", seq, before);
    for (const { key, column, value } of values)
      this.#run(`INSERT INTO embedding_metadata (id, key, ${column}) VALUES (?, ?, ?)`, row, key, value);
    for (const { key, column, value } of lists.flatMap((list) => list.values))
      this.#run(`INSERT INTO embedding_metadata_array (id, key, ${column}) VALUES (?, ?, ?)`, row, key, value);
    this.#run("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", row, DOCUMENT_KEY, text);
    this.#run("INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?, ?)", row, text);
    faultPoint("files.after-row");
  }

  remove(id: string): void {
    this.#log(OPERATION.delete, id, null, "{}");
    const row = this.#rowOf(id);
    if (row === undefined) return;
    this.#drop(row);
    faultPoint("files.after-remove");
  }

  finish(): void {
    this.#run(
      "INSERT OR REPLACE INTO max_seq_id (segment_id, seq_id) VALUES (?, ?)",
      this.#collection.metadataSegment,
      this.#mark ?? this.#seq,
    );
  }

  /** Applies records that another process has queued. Chroma queues a record in one transaction and applies it in the next. */
  #applyTail(): void {
    const mark = readMark(this.#database, this.#collection.metadataSegment) ?? 0;
    const sql = `SELECT seq_id AS seq, operation, id, NULL AS vector, encoding, metadata FROM embeddings_queue
      WHERE topic = ? AND seq_id > ? ORDER BY seq_id`;
    const queued = selectRows<QueueRow>(this.#database, sql, topicOf(this.#collection), mark);
    for (const record of queued) {
      if (this.#apply(record)) continue;
      this.#mark = BigInt(record.seq) - 1n;
      return;
    }
  }

  /** Returns false if we cannot apply the record. SQLite reads the JSON, because JavaScript does not distinguish 1 from 1.0. */
  #apply(row: QueueRow): boolean {
    const record = parseQueueRow(row);
    if (record === undefined) return false;
    const { id, operation } = record;
    const text = typeof row.metadata === "string" ? row.metadata : "{}";
    const nested = "SELECT 1 FROM json_each(?) WHERE type IN ('array', 'object')";
    if (selectRow(this.#database, nested, text) !== undefined) return false;
    const before = this.#rowOf(id);
    if (operation === OPERATION.delete) {
      if (before !== undefined) this.#drop(before);
      return true;
    }
    if (before === undefined ? operation === OPERATION.update : operation === OPERATION.add) return true;
    const seq = BigInt(row.seq);
    const at = before ?? this.#insert(id, seq);
    this.#run("UPDATE embeddings SET seq_id = ? WHERE id = ?", seq, at);
    const named = "(SELECT key FROM json_each(?))";
    this.#run(`DELETE FROM embedding_metadata WHERE id = ? AND key IN ${named}`, at, text);
    if (this.#hasArrays) this.#run(`DELETE FROM embedding_metadata_array WHERE id = ? AND key IN ${named}`, at, text);
    this.#run(
      `INSERT OR REPLACE INTO embedding_metadata (id, key, string_value, int_value, float_value, bool_value)
         SELECT ?, key, ${COLUMNS} FROM json_each(?) WHERE type <> 'null'`,
      ...[at, text],
    );
    if (!Object.hasOwn(record.metadata, DOCUMENT_KEY)) return true;
    this.#run("DELETE FROM embedding_fulltext_search WHERE rowid = ?", at);
    this.#run(
      `INSERT INTO embedding_fulltext_search (rowid, string_value)
         SELECT id, string_value FROM embedding_metadata WHERE id = ? AND key = ? AND string_value IS NOT NULL`,
      ...[at, DOCUMENT_KEY],
    );
    return true;
  }

  /** Chooses the column of each value. Errors: CONFIG_BAD_VALUE for a list if the palace's Chroma has no lists. */
  #typed({ id }: PalaceRecord, metadata: Metadata, columns: ReadonlyMap<string, Column>): Typed {
    const typed: Typed = { values: [], lists: [] };
    for (const [key, value] of Object.entries(metadata)) {
      const name = key.toWellFormed();
      const before = this.#floats.has(key) ? "float_value" : columns.get(key);
      if (!isList(value)) typed.values.push(typedValue(name, value, before));
      else if (this.#hasArrays) typed.lists.push(typedList(name, value, before));
      else throw badValue(`${id}: its ${key} is a list, which the palace's Chroma lacks`, "");
    }
    return typed;
  }

  /** Records the width of the first vector and refuses vectors of another width. Errors: STORE_MODEL_MISMATCH. */
  #requireWidth(width: number): void {
    if (this.#dimensions === undefined) {
      this.#run("UPDATE collections SET dimension = ? WHERE id = ?", width, this.#collection.id);
      this.#dimensions = width;
    }
    if (width !== this.#dimensions) throw widthError(this.#dimensions, width);
  }

  #log(operation: number, id: string, vector: Buffer | null, metadata: string): bigint {
    this.#seq += 1n;
    this.#run(
      `INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[this.#seq, operation, topicOf(this.#collection), id, vector, vector === null ? null : "FLOAT32", metadata],
    );
    return this.#seq;
  }

  #rowOf(id: string): number | undefined {
    const sql = "SELECT id FROM embeddings WHERE segment_id = ? AND embedding_id = ?";
    return selectValue<number>(this.#database, sql, this.#collection.metadataSegment, id);
  }

  #insert(id: string, seq: bigint): number {
    const sql = "INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, ?) RETURNING id";
    return selectValue<number>(this.#database, sql, this.#collection.metadataSegment, id, seq) as number;
  }

  /** Returns the column in which each key's present value is. */
  #columns(row: number): Map<string, Column> {
    const tables = ["embedding_metadata", ...(this.#hasArrays ? ["embedding_metadata_array"] : [])];
    return new Map(
      tables.flatMap((table) => {
        const sql = `SELECT key, int_value IS NOT NULL AS integer, float_value IS NOT NULL AS real FROM ${table} WHERE id = ?`;
        const found = selectRows<{ key: string; integer: number; real: number }>(this.#database, sql, row);
        return found.map(
          ({ key, integer, real }) => [key, real === 1 && integer === 0 ? "float_value" : "string_value"] as const,
        );
      }),
    );
  }

  #drop(row: number): void {
    this.#clear(row);
    this.#run("DELETE FROM embeddings WHERE id = ?", row);
  }

  #clear(row: number): void {
    this.#run("DELETE FROM embedding_fulltext_search WHERE rowid = ?", row);
    this.#run("DELETE FROM embedding_metadata WHERE id = ?", row);
    if (this.#hasArrays) this.#run("DELETE FROM embedding_metadata_array WHERE id = ?", row);
  }

  readonly #statements = new Map<string, Database.Statement>();
  #run(sql: string, ...values: unknown[]): void {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    statement.run(...values);
  }
}

/** Returns the highest sequence number of any record. Errors: STORE_CORRUPT if upstream's known fault has damaged the counter. */
function lastSeq(database: ChromaDatabase): bigint {
  const highest = (sql: string): bigint => database.prepare<[], bigint | null>(sql).safeIntegers().pluck().get() ?? 0n;
  const queue = highest("SELECT max(seq_id) FROM embeddings_queue");
  const mark = highest("SELECT max(seq_id) FROM max_seq_id WHERE typeof(seq_id) = 'integer'");
  const last = queue > mark ? queue : mark;
  if (last < BigInt(Number.MAX_SAFE_INTEGER)) return last;
  throw damaged(
    `the palace's counter is ${last}, a fault of older MemPalaces`,
    "mempalace repair --mode max-seq-id --yes",
  );
}
