/** Writes a Chroma palace without Chroma (upstream-latest.md 3). Vectors go into the queue; Chroma moves them into its index later. */
import { randomUUID } from "node:crypto";
import { existsSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { faultPoint } from "../../../base/fault-point.ts";
import type { PalaceRecord } from "../../../memory/port/public-palace.ts";
import { badValue, damaged, type PalaceError } from "../../../base/errors.ts";
import {
  type ChromaCollection,
  type ChromaDatabase,
  chromaFile,
  DRAWERS,
  missingTables,
  readCollections,
} from "../../format/chroma-file.ts";
import { readMark } from "../../format/palace-file.ts";
import { openSegment, SEGMENT_FILES, touchIndex } from "../../format/segment.ts";
import { Batch } from "./batch.ts";
import { type CollectionKind, createCollection, createPalace, MEMPALACE, withSyncThreshold } from "./create.ts";
import { filesError } from "./files-error.ts";
import { selectValue } from "../../../memory/ledger/select.ts";

/** Maximum time to wait for another process's transaction, ms. Chroma waits as long. */
const BUSY_TIMEOUT_MS = 5_000;
/** Number of the migration that gave the tables their present form (palace.md 4.3). */
const METADB_MIN = 5;

export class PalaceWriter {
  readonly #palaceDir: string;
  readonly #name: string;
  readonly #kind: CollectionKind;
  #open: { database: ChromaDatabase; inode: number } | undefined;
  /** Id for the collection, if our first record creates it. The outbox asks for the id before the collection exists. */
  readonly #plannedId: string;
  /** State of the index when it was last found whole: times of its files and inode of its folder. */
  #checked = "";

  /** Prepares a writer. `name` defaults to the drawers' collection; `plannedId` and `kind` are for a collection that it creates. */
  constructor(palaceDir: string, name = DRAWERS, plannedId: string = randomUUID(), kind: CollectionKind = MEMPALACE) {
    this.#kind = kind;
    this.#palaceDir = palaceDir;
    this.#name = name;
    this.#plannedId = plannedId;
  }

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

  create(): void {
    this.#write(() => {});
  }

  remove(ids: readonly string[]): void {
    if (ids.length === 0 || this.collection() === undefined) return;
    this.#write((batch) => {
      for (const id of ids) batch.remove(id);
    });
  }

  /** Moves a torn (unusable) index away and corrects harmful thresholds (create.ts). Returns the reason for moving it. */
  mend(): string | undefined {
    return this.#guarded(() => {
      const collection = this.collection();
      if (collection === undefined) return undefined;
      this.#setThreshold(collection);
      const folder = join(this.#palaceDir, collection.vectorSegment);
      const look = SEGMENT_FILES.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
        .concat(statSync(folder, { throwIfNoEntry: false })?.ino ?? 0)
        .join();
      if (look === this.#checked) return undefined;
      const segment = openSegment(folder);
      if (segment.state === "whole") segment.close();
      const isGone = segment.state === "absent" && readMark(this.#database(), collection.vectorSegment) !== undefined;
      const broken = segment.state === "torn" ? segment.why : segment.state === "whole" ? segment.stale : undefined;
      const torn = isGone ? "its files are gone" : broken;
      if (torn !== undefined) this.#quarantine(collection, folder);
      this.#checked = torn === undefined ? look : "";
      return torn;
    });
  }

  close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  /** Moves a torn index away. Deletes its `max_seq_id` first, so that after a kill the next run still finds the torn files. */
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
      const text = selectValue<string | null>(this.#database(), sql, id);
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
      if (known !== undefined) touchIndex(join(this.#palaceDir, known.vectorSegment));
      faultPoint("files.before-begin");
      database
        .transaction(() => {
          if (known === undefined) createCollection(database, this.#plannedId, this.#name, this.#kind);
          const collection = known ?? this.#find(database);
          if (collection === undefined) throw new Error("the new collection does not exist");
          const batch = new Batch(database, collection, this.#kind.floats);
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

  /** Returns the open database. Opens the file again if a repair has replaced it. */
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

/** Checks the tables. Errors: CONFIG_BAD_VALUE for an older Chroma's tables, STORE_CORRUPT if a table or a segment is lost. */
export function requireSchema(database: ChromaDatabase, file: string): void {
  const lost = (what: string): PalaceError =>
    damaged(`${file} has lost ${what}`, "restore a backup of the palace, or rebuild it from the ledger: palace repair");
  const missing = missingTables(database, ["migrations"]);
  if (missing.length > 0) throw lost(`tables: ${missing.join(", ")}`);
  const version = selectValue<number | null>(database, "SELECT max(version) FROM migrations WHERE dir = 'metadb'");
  if ((version ?? 0) < METADB_MIN)
    throw badValue(
      `${file} has the tables of an older Chroma`,
      "open it once with MemPalace 3.3.6 or newer: mempalace status",
    );
  const sql = `SELECT c.name FROM collections c
    WHERE (SELECT count(DISTINCT scope) FROM segments s WHERE s.collection = c.id AND scope IN ('METADATA', 'VECTOR')) < 2`;
  const halved = selectValue<string>(database, sql);
  if (halved !== undefined) throw lost(`a part of its collection ${halved}`);
}
