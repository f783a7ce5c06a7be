/** Writes a palace's chroma.sqlite3 as Chroma 1.5.9 does, without Chroma. The table definitions are a dump of a real file. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { PalaceRecord } from "../../src/memory/port/public-palace.ts";

const TABLES = `
CREATE TABLE IF NOT EXISTS collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT);
CREATE TABLE IF NOT EXISTS segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS embeddings (
  id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL, seq_id BLOB NOT NULL,
  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE IF NOT EXISTS embedding_metadata (
  id INTEGER, key TEXT NOT NULL, string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER,
  PRIMARY KEY (id, key));
CREATE TABLE IF NOT EXISTS embeddings_queue (
  seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, operation INTEGER NOT NULL,
  topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
CREATE TABLE IF NOT EXISTS max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER);`;

const UPSERT = 2;
const DELETE = 3;

export class ChromaPalace {
  readonly collectionId: string;
  readonly vectorSegment: string;
  readonly #folder: string;
  readonly #prefix: string;
  readonly #database: Database.Database;

  constructor(folder: string, prefix = "id-of-") {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#database = new Database(join(folder, "chroma.sqlite3"));
    this.#database.exec(TABLES);
    this.collectionId = this.#collection("mempalace_drawers");
    this.vectorSegment = `${this.collectionId}-vector`;
  }

  upsert(records: readonly PalaceRecord[]): void {
    this.upsertInto("mempalace_drawers", records);
  }

  upsertInto(name: string, records: readonly PalaceRecord[]): void {
    this.logInto(name, records)();
  }

  /** Commits the records to the queue. The returned function makes Chroma's second commit: the rows that readers see. */
  logInto(name: string, records: readonly PalaceRecord[]): () => void {
    const collection = this.#collection(name);
    const seqs = records.map(({ id }) => this.#log(collection, UPSERT, id));
    return this.#database.transaction(() => {
      for (const [at, { id, text, metadata }] of records.entries()) {
        const seq = seqs[at] ?? 0;
        const row = this.#database
          .prepare<[string, string, number], number>(
            `INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, ?)
               ON CONFLICT (segment_id, embedding_id) DO UPDATE SET seq_id = excluded.seq_id RETURNING id`,
          )
          .pluck()
          .get(`${collection}-metadata`, id, seq);
        const put = this.#database.prepare(
          "INSERT OR REPLACE INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)",
        );
        for (const [key, value] of Object.entries({ ...metadata, "chroma:document": text })) put.run(row, key, value);
      }
    });
  }

  remove(ids: readonly string[]): void {
    this.#database.transaction(() => {
      for (const id of ids) {
        this.#log(this.collectionId, DELETE, id);
        this.#database.prepare("DELETE FROM embeddings WHERE embedding_id = ?").run(id);
      }
    })();
  }

  /** Marks all records as written to the vector index on disk, whose header then claims `elements` elements. */
  flushIndex(elements: number): void {
    const header = Buffer.alloc(100);
    header.writeBigUInt64LE(BigInt(elements), 20);
    mkdirSync(join(this.#folder, this.vectorSegment), { recursive: true });
    writeFileSync(join(this.#folder, this.vectorSegment, "header.bin"), header);
    this.#database
      .prepare("INSERT OR REPLACE INTO max_seq_id SELECT ?, max(seq_id) FROM embeddings_queue")
      .run(this.vectorSegment);
  }

  close(): void {
    this.#database.close();
  }

  #collection(name: string): string {
    const id = `${this.#prefix}${name}`;
    this.#database.prepare("INSERT OR IGNORE INTO collections (id, name) VALUES (?, ?)").run(id, name);
    for (const scope of ["VECTOR", "METADATA"])
      this.#database
        .prepare("INSERT OR IGNORE INTO segments VALUES (?, '', ?, ?)")
        .run(`${id}-${scope.toLowerCase()}`, scope, id);
    return id;
  }

  #log(collection: string, operation: number, id: string): number {
    const { lastInsertRowid } = this.#database
      .prepare("INSERT INTO embeddings_queue (operation, topic, id) VALUES (?, ?, ?)")
      .run(operation, `persistent://default/default/${collection}`, id);
    return Number(lastInsertRowid);
  }
}
