/** Creates an empty palace as Chroma 1.5.9 does, and collections as MemPalace 3.11 does. A kill leaves no incomplete palace. */
import { hash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../../base/fault-point.ts";
import { chromaFile, type ChromaDatabase, DEFAULT_DATABASE } from "../../format/chroma-file.ts";
import { MIGRATIONS } from "../../format/migrations.ts";

const SYNC_THRESHOLD = 1000;
const BATCH_SIZE = 100;

/** Settings with which a program makes its collections. `floats`: fields that are floating point even if the value is whole. */
export type CollectionKind = {
  space: "cosine" | "l2";
  metadata: readonly (readonly [string, string | number])[];
  /** Model with which Chroma embeds a text that comes without a vector. */
  model: object | undefined;
  floats: ReadonlySet<string>;
};

/** MemPalace's settings (upstream-latest.md 2.2, dumped from a collection of 3.11). */
export const MEMPALACE: CollectionKind = {
  space: "cosine",
  metadata: [
    ["hnsw:space", "cosine"],
    ["hnsw:num_threads", 1],
    ["hnsw:batch_size", BATCH_SIZE],
    ["hnsw:sync_threshold", SYNC_THRESHOLD],
  ],
  model: { type: "known", name: "default", config: {} },
  floats: new Set(),
};

/** Roampal's settings, dumped from collections of Roampal 0.3.6.1. It sends its own vectors to Chroma. */
export const ROAMPAL: CollectionKind = {
  space: "l2",
  metadata: [],
  model: undefined,
  floats: new Set(["score", "success_count", "importance", "confidence"]),
};

export function createPalace(palaceDir: string): void {
  mkdirSync(palaceDir, { recursive: true, mode: 0o700 });
  const file = chromaFile(palaceDir);
  const draft = `${file}.${randomUUID().slice(0, 8)}.new`;
  // Removes drafts that killed processes left.
  for (const name of readdirSync(palaceDir))
    if (/^chroma\.sqlite3\.[0-9a-f]{8}\.new(-journal)?$/.test(name)) rmSync(join(palaceDir, name), { force: true });
  try {
    const database = new Database(draft);
    try {
      database.pragma("synchronous = FULL");
      // Allows Chroma's foreign key to a table that does not exist.
      database.pragma("foreign_keys = OFF");
      database.transaction(() => migrate(database))();
    } finally {
      database.close();
    }
    faultPoint("files.before-link");
    // If another process has created a palace meanwhile, this fails, and that palace is used.
    linkSync(draft, file);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
    rmSync(`${draft}-journal`, { force: true });
  }
}

function migrate(database: ChromaDatabase): void {
  database.exec(`
    CREATE TABLE migrations (dir TEXT NOT NULL, version INTEGER NOT NULL, filename TEXT NOT NULL, sql TEXT NOT NULL,
      hash TEXT NOT NULL, PRIMARY KEY (dir, version));
    CREATE TABLE acquire_write (id INTEGER PRIMARY KEY, lock_status INTEGER NOT NULL);
    INSERT INTO acquire_write VALUES (1, 1);`);
  const record = database.prepare("INSERT INTO migrations VALUES (?, ?, ?, ?, ?)");
  for (const [dir, files] of Object.entries(MIGRATIONS)) {
    for (const [filename, sql] of Object.entries(files)) {
      database.exec(sql);
      record.run(dir, parseInt(filename, 10), filename, sql, hash("md5", sql));
    }
  }
  database
    .prepare("INSERT INTO embeddings_queue_config VALUES (1, ?)")
    .run('{"automatically_purge":true,"_type":"EmbeddingsQueueConfigurationInternal"}');
}

/** Creates a collection, which must not exist yet. Call it inside a transaction. */
export function createCollection(database: ChromaDatabase, id: string, name: string, kind: CollectionKind): void {
  database
    .prepare(
      "INSERT INTO collections (id, name, dimension, database_id, config_json_str, schema_str) VALUES (?, ?, NULL, ?, '{}', ?)",
    )
    .run(id, name, DEFAULT_DATABASE, JSON.stringify(schema(kind)));
  const put = database.prepare(
    "INSERT INTO collection_metadata (collection_id, key, str_value, int_value) VALUES (?, ?, ?, ?)",
  );
  for (const [key, value] of kind.metadata)
    put.run(id, key, ...(typeof value === "string" ? ([value, null] as const) : ([null, value] as const)));
  const segment = database.prepare("INSERT INTO segments (id, type, scope, collection) VALUES (?, ?, ?, ?)");
  segment.run(randomUUID(), "urn:chroma:segment/vector/hnsw-local-persisted", "VECTOR", id);
  segment.run(randomUUID(), "urn:chroma:segment/metadata/sqlite", "METADATA", id);
}

/** Returns a collection's schema as Chroma writes it: how values are indexed, and the model's name. */
function schema({ space, model }: CollectionKind): unknown {
  const index = (name: string, enabled: boolean): Record<string, unknown> => ({ [name]: { enabled, config: {} } });
  const hnsw = {
    ...{ ef_construction: 100, max_neighbors: 16, ef_search: 100, num_threads: 1 },
    ...{ batch_size: BATCH_SIZE, sync_threshold: SYNC_THRESHOLD, resize_factor: 1.2 },
  };
  const embedding = model !== undefined && { embedding_function: model };
  const vectors = (enabled: boolean, source: Record<string, string>): unknown => ({
    vector_index: { enabled, config: { space, ...embedding, ...source, hnsw } },
  });
  const text = (fullText: boolean): unknown => ({
    ...index("fts_index", fullText),
    ...index("string_inverted_index", !fullText),
  });
  return {
    defaults: {
      string: text(false),
      float_list: vectors(false, {}),
      sparse_vector: {
        sparse_vector_index: { enabled: false, config: { embedding_function: { type: "unknown" }, bm25: false } },
      },
      int: index("int_inverted_index", true),
      float: index("float_inverted_index", true),
      bool: index("bool_inverted_index", true),
    },
    keys: {
      "#embedding": { float_list: vectors(true, { source_key: "#document" }) },
      "#document": { string: text(true) },
    },
  };
}

/** Sets our sync_threshold (50,000 makes small writes slow, 2 rewrites the index at each write) and batch_size. Undefined: no change. */
export function withSyncThreshold(text: string): string | undefined {
  let changed = false;
  const fix = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const fields = value as Record<string, unknown>;
    for (const [key, one] of Object.entries(fields)) {
      if (key !== "hnsw") {
        fix(one);
        continue;
      }
      const hnsw = one as { sync_threshold?: unknown; batch_size?: unknown } | null;
      if (typeof hnsw?.sync_threshold !== "number" || hnsw.sync_threshold === SYNC_THRESHOLD) continue;
      hnsw.sync_threshold = SYNC_THRESHOLD;
      if (typeof hnsw.batch_size === "number") hnsw.batch_size = BATCH_SIZE;
      changed = true;
    }
  };
  const value: unknown = JSON.parse(text);
  fix(value);
  return changed ? JSON.stringify(value) : undefined;
}
