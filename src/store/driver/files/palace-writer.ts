/**
 * Writes a Chroma palace without Chroma: rows, metadata and full text themselves, and the vectors into the write-ahead queue, from
 * which any Chroma takes them into its index when it opens the palace. One list is one short transaction; between two of them
 * nothing is locked. Runs on a thread (files-thread.ts).
 *
 * Source: upstream-latest.md 3, where it is told what each version of MemPalace sees of it.
 */
import { randomUUID } from "node:crypto";
import { existsSync, renameSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../../platform/fault.ts";
import { PalaceError } from "../../../protocol/errors.ts";
import type { Metadata, PalaceRecord } from "../../port.ts";
import {
  type ChromaCollection,
  type ChromaDatabase,
  chromaFile,
  DRAWERS,
  readCollections,
} from "../../watch/chroma-file.ts";
import { objectionTo } from "../limits.ts";
import { createCollection, createPalace, withSyncThreshold } from "./create.ts";
import { filesError } from "./files-error.ts";
import { readMark, topicOf } from "./palace-file.ts";
import { DOCUMENT_KEY, OPERATION } from "./queue.ts";
import { openSegment } from "./segment.ts";
import { type Column, queueJson, typedValue } from "./values.ts";

/** As long as Chroma itself waits for another's transaction; it is on a thread that nobody else needs. */
const BUSY_TIMEOUT_MS = 5_000;
/** What upstream writes where there is nothing: Chroma keeps no empty metadata (palace.md 4.6). */
const NO_METADATA: Metadata = { _repaired_empty_meta: true };
/** The tables as they are since these migrations (palace.md 4.3). */
const METADB_MIN = 5;

export class PalaceWriter {
  readonly #palaceDir: string;
  readonly #name: string;
  #open: { database: ChromaDatabase; inode: number } | undefined;
  /** Of the collection that the first record makes: a target has its name from the start. */
  readonly #plannedId: string;
  /** Of the index that was looked at last: its folder and time. */
  #checked = "";

  /** `name`: the drawers' collection, unless another is named; `plannedId`: the id it gets if it is made. */
  constructor(palaceDir: string, name = DRAWERS, plannedId: string = randomUUID()) {
    this.#palaceDir = palaceDir;
    this.#name = name;
    this.#plannedId = plannedId;
  }

  /** The collection, if there is one yet. Errors: filesError's. */
  collection(): ChromaCollection | undefined {
    return this.#guarded(() => {
      if (!existsSync(chromaFile(this.#palaceDir))) return undefined;
      return this.#find(this.#database());
    });
  }

  get collectionId(): string {
    return this.collection()?.id ?? this.#plannedId;
  }

  read<T>(read: (database: ChromaDatabase, collection: ChromaCollection) => T): T | undefined {
    return this.#guarded(() => {
      const collection = this.collection();
      return collection && read(this.#database(), collection);
    });
  }

  upsert(records: readonly PalaceRecord[]): void {
    if (records.length === 0) return;
    this.#write((batch) => {
      for (const record of records) batch.upsert(record);
    });
  }

  /** The collection, also where it is to hold nothing yet. */
  create(): void {
    this.#write(() => {});
  }

  remove(ids: readonly string[]): void {
    if (ids.length === 0 || this.collection() === undefined) return;
    this.#write((batch) => {
      for (const id of ids) batch.remove(id);
    });
  }

  /**
   * Puts right what would hurt: a torn index is moved away, which nobody may load any more, and thresholds are set. Its vectors
   * come again from the ledger (watch.ts counts rows without one). Returns why it was torn.
   */
  mend(): string | undefined {
    return this.#guarded(() => {
      const collection = this.collection();
      if (collection === undefined) return undefined;
      this.#setThreshold(collection);
      const folder = join(this.#palaceDir, collection.vectorSegment);
      const look = ["header.bin", "data_level0.bin", "index_metadata.pickle"]
        .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
        .concat(statSync(folder, { throwIfNoEntry: false })?.ino ?? 0)
        .join();
      if (look === this.#checked) return undefined;
      const segment = openSegment(folder);
      if (segment.state === "whole") segment.close();
      const isGone = segment.state === "absent" && readMark(this.#database(), collection.vectorSegment) !== undefined;
      const torn = segment.state === "torn" ? segment.why : isGone ? "its files are gone" : undefined;
      if (torn !== undefined) this.#quarantine(collection, folder);
      this.#checked = torn === undefined ? look : "";
      return torn;
    });
  }

  close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  /** The mark first: killed in between, the files are still there and still torn, and are found again. */
  #quarantine({ vectorSegment }: ChromaCollection, folder: string): void {
    const stamp = new Date().toISOString().replace(/\..*/, "").replaceAll(/[-:]/g, "").replace("T", "-");
    this.#database().prepare("DELETE FROM max_seq_id WHERE segment_id = ?").run(vectorSegment);
    faultPoint("files.in-quarantine");
    if (existsSync(folder)) renameSync(folder, `${folder}.corrupt-${stamp}`);
  }

  #setThreshold({ id }: ChromaCollection): void {
    const columns = this.#database().pragma("table_info(collections)") as { name: string }[];
    for (const column of ["schema_str", "config_json_str"]) {
      if (!columns.some(({ name }) => name === column)) continue;
      const sql = `SELECT ${column} FROM collections WHERE id = ?`;
      const text = this.#database().prepare<[string], string | null>(sql).pluck().get(id);
      const fixed = text === null || text === undefined || text === "" ? undefined : withSyncThreshold(text);
      if (fixed !== undefined)
        this.#database().prepare(`UPDATE collections SET ${column} = ? WHERE id = ?`).run(fixed, id);
    }
  }

  #write(work: (batch: Batch) => void): void {
    this.#guarded(() => {
      if (!existsSync(chromaFile(this.#palaceDir))) createPalace(this.#palaceDir);
      const database = this.#database();
      const known = this.#find(database);
      // 3.3.6 renames an index that is five minutes older than the rows: it must be younger before they are.
      if (known !== undefined) touch(join(this.#palaceDir, known.vectorSegment, "data_level0.bin"));
      faultPoint("files.before-begin");
      database
        .transaction(() => {
          if (known === undefined) createCollection(database, this.#plannedId, this.#name);
          const collection = known ?? this.#find(database);
          if (collection === undefined) throw new Error("the collection that was just made is not there");
          const batch = new Batch(database, collection);
          work(batch);
          batch.finish();
          faultPoint("files.before-commit");
        })
        .immediate();
      faultPoint("files.after-commit");
    });
  }

  #find(database: ChromaDatabase): ChromaCollection | undefined {
    return readCollections(database).find(({ name }) => name === this.#name);
  }

  /** The file at that path, now: a repair may have put another one there. */
  #database(): ChromaDatabase {
    const file = chromaFile(this.#palaceDir);
    const inode = statSync(file).ino;
    if (this.#open?.inode !== inode) this.close();
    if (this.#open === undefined) {
      const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
      try {
        database.pragma("synchronous = FULL");
        database.pragma("foreign_keys = OFF");
        requireSchema(database, file);
      } catch (error) {
        database.close();
        throw error;
      }
      this.#open = { database, inode };
    }
    return this.#open.database;
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw filesError(error, chromaFile(this.#palaceDir));
    }
  }
}

/** The records of one transaction. */
class Batch {
  readonly #database: ChromaDatabase;
  readonly #collection: ChromaCollection;
  readonly #hasArrays: boolean;
  #seq: bigint;
  #dimensions: number | undefined;

  constructor(database: ChromaDatabase, collection: ChromaCollection) {
    this.#database = database;
    this.#collection = collection;
    this.#seq = lastSeq(database);
    this.#dimensions =
      database
        .prepare<[string], number | null>("SELECT dimension FROM collections WHERE id = ?")
        .pluck()
        .get(collection.id) ?? undefined;
    const arrays = "SELECT 1 FROM sqlite_master WHERE name = 'embedding_metadata_array'";
    this.#hasArrays = database.prepare(arrays).get() !== undefined;
  }

  upsert(record: PalaceRecord): void {
    const objection = objectionTo(record, false) ?? this.#dimensionObjection(record.vector);
    if (objection !== undefined) throw new PalaceError("CONFIG_BAD_VALUE", `${record.id}: ${objection}`, "");
    const { vector } = record;
    const id = record.id.toWellFormed();
    const text = record.text.toWellFormed();
    const metadata = Object.keys(record.metadata).length === 0 ? NO_METADATA : record.metadata;
    const before = this.#rowOf(id);
    const columns = before === undefined ? new Map<string, Column>() : this.#columns(before);
    const values = Object.entries(metadata).map(([key, value]) =>
      typedValue(key.toWellFormed(), value, columns.get(key)),
    );
    const removed = [...columns.keys()].filter((key) => key !== DOCUMENT_KEY && !Object.hasOwn(metadata, key));
    const json = queueJson(text, values, removed);
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
    const seq = this.#log(OPERATION.upsert, id, bytes, json);
    faultPoint("files.after-queue");
    if (before !== undefined) this.#clear(before);
    const row = before ?? this.#insert(id, seq);
    if (before !== undefined) this.#run("UPDATE embeddings SET seq_id = ? WHERE id = ?", seq, before);
    for (const { key, column, value } of values)
      this.#run(`INSERT INTO embedding_metadata (id, key, ${column}) VALUES (?, ?, ?)`, row, key, value);
    this.#run("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", row, DOCUMENT_KEY, text);
    this.#run("INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?, ?)", row, text);
    faultPoint("files.after-row");
  }

  remove(id: string): void {
    this.#log(OPERATION.delete, id, null, "{}");
    const row = this.#rowOf(id);
    if (row === undefined) return;
    this.#clear(row);
    this.#run("DELETE FROM embeddings WHERE id = ?", row);
    faultPoint("files.after-remove");
  }

  finish(): void {
    this.#run(
      "INSERT OR REPLACE INTO max_seq_id (segment_id, seq_id) VALUES (?, ?)",
      this.#collection.metadataSegment,
      this.#seq,
    );
  }

  #dimensionObjection({ length }: Float32Array): string | undefined {
    if (this.#dimensions === undefined) {
      this.#run("UPDATE collections SET dimension = ? WHERE id = ?", length, this.#collection.id);
      this.#dimensions = length;
    }
    return length === this.#dimensions ? undefined : `its vector has not ${this.#dimensions} dimensions`;
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
    return this.#database
      .prepare<[string, string], number>("SELECT id FROM embeddings WHERE segment_id = ? AND embedding_id = ?")
      .pluck()
      .get(this.#collection.metadataSegment, id);
  }

  #insert(id: string, seq: bigint): number {
    const sql = "INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, ?) RETURNING id";
    return this.#database
      .prepare<[string, string, bigint], number>(sql)
      .pluck()
      .get(this.#collection.metadataSegment, id, seq) as number;
  }

  /** Key → the column its value stands in now. */
  #columns(row: number): Map<string, Column> {
    const sql =
      "SELECT key, int_value IS NOT NULL AS integer, float_value IS NOT NULL AS real FROM embedding_metadata WHERE id = ?";
    const found = this.#database.prepare<[number], { key: string; integer: number; real: number }>(sql).all(row);
    return new Map(
      found.map(({ key, integer, real }) => [key, real === 1 && integer === 0 ? "float_value" : "string_value"]),
    );
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

/** The last number given to anybody. Errors: STORE_CORRUPT where a known fault of upstream's has spoilt the counter. */
function lastSeq(database: ChromaDatabase): bigint {
  const highest = (sql: string): bigint => database.prepare<[], bigint | null>(sql).safeIntegers().pluck().get() ?? 0n;
  const queue = highest("SELECT max(seq_id) FROM embeddings_queue");
  const mark = highest("SELECT max(seq_id) FROM max_seq_id WHERE typeof(seq_id) = 'integer'");
  const last = queue > mark ? queue : mark;
  if (last < BigInt(Number.MAX_SAFE_INTEGER)) return last;
  throw new PalaceError(
    "STORE_CORRUPT",
    `the palace's counter stands at ${last}, a fault of older MemPalaces`,
    "mempalace repair --mode max-seq-id --yes",
  );
}

/** Errors: CONFIG_BAD_VALUE for the tables of an old Chroma, which a newer MemPalace brings up to date by opening them. */
export function requireSchema(database: ChromaDatabase, file: string): void {
  const version = database
    .prepare<[], number | null>("SELECT max(version) FROM migrations WHERE dir = 'metadb'")
    .pluck()
    .get();
  if ((version ?? 0) >= METADB_MIN) return;
  throw new PalaceError(
    "CONFIG_BAD_VALUE",
    `${file} has the tables of an older Chroma`,
    "open it once with MemPalace 3.3.6 or newer: mempalace status",
  );
}

function touch(file: string): void {
  if (!existsSync(file)) return;
  const now = new Date();
  utimesSync(file, now, now);
}
