/** Reads Roampal's data folder without Chroma (outcome-memory.md 2.1, 4.2), from a copy, because SQLite creates files beside a database. */
import { constants, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { hash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { readRecord } from "../../base/parse-json.ts";
import { damaged, PalaceError, unavailable, unreadable, wrongUsage } from "../../base/errors.ts";
import { CARRIED_GRAPHS, type CarriedMemory } from "../../protocol/outcome.ts";
import {
  type ChromaCollection,
  type ChromaDatabase,
  chromaFile,
  missingTables,
  readCollections,
} from "../../mempalace/format/chroma-file.ts";
import { countRows, type PalaceRow, readRows, readTail } from "../../mempalace/format/palace-file.ts";
import { type GraphFile, readGraphs } from "./graphs.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Chroma's name of each collection, in reading order. If a killed move left a memory in two collections, only the first copy is read. */
export const ROAMPAL_COLLECTIONS: ReadonlyMap<string, string> = new Map(
  ["patterns", "history", "working", "memory_bank", "books"].map((name) => [name, `roampal_${name}`]),
);
/** Folder of Chroma's database within Roampal's data folder. */
export const CHROMA_FOLDER = "chromadb";
const GHOSTS_FILE = "ghost_ids.json";
const USED: ReadonlySet<string> = new Set([CHROMA_FOLDER, GHOSTS_FILE, ...CARRIED_GRAPHS]);

const COPIES = "palace-roampal-";
const PAGE_ROWS = 200;
const COPY_TRIES = 3;
/** Suffixes of the database file and of the files that SQLite keeps beside it. */
const PARTS = ["", "-wal", "-journal"];

export type Found = {
  memories: number;
  /** Number of chunks that Roampal has removed from books, and that are therefore skipped. */
  ghosts: number;
  /** Number of memories skipped because they were found before: an interrupted move leaves two copies. */
  repeated: number;
  /** Number of records in Chroma's queue that cannot be read. */
  unreadable: number;
};

export class RoampalFolder {
  readonly #dir: string;
  readonly #copy: string;
  readonly #database: ChromaDatabase;
  readonly #collections: ChromaCollection[];
  readonly #ghosts: ReadonlySet<string>;
  readonly found: Found = { memories: 0, ghosts: 0, repeated: 0, unreadable: 0 };

  /** Errors: CONFIG_USAGE, FEEDER_SOURCE_UNREADABLE, STORE_UNAVAILABLE, STORE_CORRUPT. */
  constructor(dir: string) {
    this.#dir = dir;
    if (!existsSync(chromaFile(join(dir, CHROMA_FOLDER)))) throw noRoampal(dir);
    this.#copy = makeCopyFolder(dir);
    try {
      copyDatabase(dir, this.#copy);
      // Opening read-write replays the WAL. That is safe because this is our private copy.
      this.#database = new Database(chromaFile(this.#copy), { fileMustExist: true });
      try {
        this.#collections = this.#find();
      } catch (error) {
        this.#database.close();
        throw unread(dir, error);
      }
      this.#ghosts = readGhosts(dir);
    } catch (error) {
      rmSync(this.#copy, { recursive: true, force: true });
      throw error;
    }
  }

  get total(): number {
    return this.#named().reduce((sum, [, collection]) => sum + countRows(this.#database, collection), 0);
  }

  get others(): { collections: { name: string; rows: number }[]; files: string[] } {
    const named = new Set(this.#named().map(([, collection]) => collection));
    const foreign = this.#collections.filter((one) => !named.has(one));
    return {
      collections: foreign.map((one) => ({ name: one.name, rows: countRows(this.#database, one) })),
      files: readdirSync(this.#dir)
        .filter((name) => !USED.has(name))
        .toSorted(),
    };
  }

  /** Yields each memory once, and counts the skipped ones in `found`. */
  *memories(): Generator<CarriedMemory, void> {
    const seen = new Set<string>();
    for (const [collection, chroma] of this.#named())
      for (const row of this.#rows(chroma)) {
        const memory = { collection, ...carried(row) };
        const move = `${row.id.slice(row.id.lastIndexOf("_"))} ${hash("sha256", memory.text)}`;
        const isMoved = collection !== "books" && collection !== "memory_bank";
        if (this.#ghosts.has(row.id)) this.found.ghosts += 1;
        else if (seen.has(row.id) || (isMoved && seen.has(move))) this.found.repeated += 1;
        else {
          this.found.memories += 1;
          yield memory;
        }
        seen.add(row.id).add(move);
      }
  }

  graphs(): Generator<GraphFile, void> {
    return readGraphs(this.#dir);
  }

  close(): void {
    this.#database.close();
    rmSync(this.#copy, { recursive: true, force: true });
  }

  #named(): [name: string, collection: ChromaCollection][] {
    return [...ROAMPAL_COLLECTIONS].flatMap(([name, chroma]) => {
      const collection = this.#collections.find((one) => one.name === chroma);
      return collection === undefined ? [] : [[name, collection] satisfies [string, ChromaCollection]];
    });
  }

  /** Yields the rows as if Chroma had applied its queue of changes. */
  *#rows(collection: ChromaCollection): Generator<PalaceRow, void> {
    const { rows: tail, unreadable: bad } = readTail(this.#database, collection);
    this.found.unreadable += bad;
    for (let after = -1; ;) {
      const page = readRows(this.#database, collection, after, PAGE_ROWS);
      if (page.length === 0) break;
      after = page.at(-1)?.row ?? after;
      for (const row of page) if (!tail.has(row.id)) yield row;
    }
    for (const row of tail.values()) if (row !== undefined) yield row;
  }

  #find(): ChromaCollection[] {
    if (missingTables(this.#database).length > 0) throw noRoampal(this.#dir);
    const collections = readCollections(this.#database);
    const names = new Set(ROAMPAL_COLLECTIONS.values());
    if (!collections.some(({ name }) => names.has(name))) throw noRoampal(this.#dir);
    return collections;
  }
}

/** Converts a row. Its text is in the metadata if the row has no document. */
function carried({ id, text: document, metadata }: PalaceRow): Omit<CarriedMemory, "collection"> {
  const texts = [document, metadata["content"], metadata["text"]];
  const text = texts.find((one) => typeof one === "string" && one.trim() !== "");
  return { id, text: typeof text === "string" ? text : "", metadata };
}

function makeCopyFolder(dir: string): string {
  try {
    removeLeftovers(tmpdir(), COPIES);
    return mkdtempSync(join(tmpdir(), `${COPIES}${process.pid}-`));
  } catch (error) {
    throw uncopied(dir, error);
  }
}

/** Copies the database, again if it changed. Errors: CONFIG_USAGE, FEEDER_SOURCE_UNREADABLE, STORE_UNAVAILABLE after the last try. */
function copyDatabase(dir: string, to: string): void {
  const from = join(dir, CHROMA_FOLDER);
  const states = (): string =>
    PARTS.map((part) => {
      const stat = statSync(`${chromaFile(from)}${part}`, { bigint: true, throwIfNoEntry: false });
      return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
    }).join();
  for (let tries = 0; tries < COPY_TRIES; tries++) {
    const before = states();
    for (const part of PARTS) {
      const file = `${chromaFile(from)}${part}`;
      rmSync(`${chromaFile(to)}${part}`, { force: true });
      if (!existsSync(file)) continue;
      // Reading a pipe or a device would never end.
      if (!statSync(file).isFile()) throw noRoampal(dir, `: ${file} is not a file`);
      try {
        copyFileSync(file, `${chromaFile(to)}${part}`, constants.COPYFILE_FICLONE);
      } catch (error) {
        throw uncopied(dir, error);
      }
    }
    if (states() === before) return;
  }
  throw unavailable(
    `${from} was written to while it was read: a Roampal is at work there`,
    "end it (roampal stop, and the agents that use it), then import again",
  );
}

/** Returns the ids of removed chunks; none if the file is unreadable, as in Roampal. */
function readGhosts(dir: string): Set<string> {
  const file = join(dir, GHOSTS_FILE);
  try {
    if (!statSync(file).isFile()) return new Set();
    const { ghost_ids: ids } = readRecord(file);
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : []);
  } catch {
    return new Set();
  }
}

function uncopied(dir: string, error: unknown): PalaceError {
  return unreadable(
    `${dir} cannot be copied to ${tmpdir()}: ${(error as Error).message}`,
    "check read access to the first folder and free space in the second; TMPDIR selects another one",
    error,
  );
}

function noRoampal(dir: string, why = ""): PalaceError {
  return wrongUsage(
    `there is no Roampal data in ${dir}${why}`,
    `name its folder, which holds ${CHROMA_FOLDER}: palace outcome import DIR`,
  );
}

function unread(dir: string, error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  return damaged(
    `${chromaFile(join(dir, CHROMA_FOLDER))}: ${(error as Error).message}`,
    "open it with Roampal once (roampal stats), or name a backup of the folder",
    error,
  );
}
