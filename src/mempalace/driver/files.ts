/** The driver for the palace's own files, without a Chroma process. It reads and writes on its own thread, in short transactions. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { Log } from "../../base/log.ts";
import { type LazyThread, lazyThread, type Thread, threadFile } from "../../base/thread.ts";
import type { PlaceFilter } from "../../memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../memory/port/public-palace.ts";
import { badValue, unavailable } from "../../base/errors.ts";
import { chromaFile } from "../format/chroma-file.ts";
import type { FilesMethods, FilesThreadData } from "./files/files-thread.ts";

/** Number of records in one transaction. A reader of the palace may have to wait for the whole transaction. */
const RECORDS_MAX = 100;
const CLOSE_MAX_MS = 2_000;

export type FilesDriverOptions = {
  palaceDir: string;
  log: Log;
  fault?: string | undefined;
  /** Returns false while the palace must not be repaired. Called whenever the driver opens the palace. */
  mayMend?: () => boolean;
  collection?: string;
};

/** Creates the driver. It creates no file before its first record. Never throws; `open` reports errors. */
export function createFilesDriver(options: FilesDriverOptions): PalaceDriver {
  return new FilesDriver(options);
}

class FilesDriver implements PalaceDriver {
  readonly kind = "files";
  readonly recordsMax = RECORDS_MAX;
  repairs = 0;
  readonly #options: FilesDriverOptions;
  readonly #thread: LazyThread<FilesMethods>;
  /** Id that the collection gets if the first record creates it. It is chosen at once, because the outbox needs `target` earlier. */
  readonly #plannedId = randomUUID();
  #collectionId: string | undefined;
  #isOpen = false;
  #closed = false;

  constructor(options: FilesDriverOptions) {
    this.#options = options;
    const { palaceDir, fault, collection } = options;
    const data: FilesThreadData = { palaceDir, fault, collection, plannedId: this.#plannedId };
    this.#thread = lazyThread(threadFile(import.meta.url, "files/files-thread"), data);
  }

  get target(): string {
    return `file:${this.#options.palaceDir}#${this.#collectionId ?? ""}`;
  }

  get collectionId(): string | undefined {
    return this.#collectionId;
  }

  async open(): Promise<void> {
    const { log, palaceDir, mayMend = () => true } = this.#options;
    // Without a palace, the thread starts only with the first record, because many brokers end before they send one.
    if (!this.#closed && !this.#thread.isStarted() && !existsSync(chromaFile(palaceDir))) {
      this.#collectionId = this.#plannedId;
      this.#isOpen = true;
      return;
    }
    const { collectionId, torn } = await (await this.#running()).call("open", mayMend());
    this.#collectionId = collectionId;
    this.#isOpen = true;
    if (torn === null) return;
    this.repairs += 1;
    log.warn("the palace's index was torn and is moved away; its vectors are written again", { torn });
  }

  async upsert(records: readonly PalaceRecord[]): Promise<void> {
    const thread = await this.#ready();
    const newest = [...new Map(records.map((record) => [record.id, record])).values()];
    const dimensions = newest[0]?.vector.length;
    const odd = newest.find(({ vector }) => vector.length !== dimensions);
    // Checks all records first, because a refused record must prevent every write.
    if (odd !== undefined) throw badValue(`${odd.id}: its vector has another dimension`, "");
    for (let from = 0; from < newest.length; from += RECORDS_MAX)
      await thread.call("upsert", newest.slice(from, from + RECORDS_MAX));
  }

  async remove(ids: readonly string[]): Promise<void> {
    const thread = await this.#ready();
    const unique = [...new Set(ids)];
    for (let from = 0; from < unique.length; from += RECORDS_MAX)
      await thread.call("remove", unique.slice(from, from + RECORDS_MAX));
  }

  async count(): Promise<number> {
    return (await this.#ready()).call("count");
  }

  async ids(offset: number, limit: number): Promise<string[]> {
    return (await this.#ready()).call("ids", offset, limit);
  }

  async query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]> {
    if (limit < 1) return [];
    return (await this.#ready()).call("query", vector, filter, limit);
  }

  /** Waits at most CLOSE_MAX_MS for the running transaction. After that SQLite rolls it back. */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#thread.isStarted()) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MAX_MS)));
    await Promise.race([this.#thread.call("close").catch(() => {}), late]);
    clearTimeout(timer);
    await this.#thread.close();
  }

  async #ready(): Promise<Thread<FilesMethods>> {
    if (!this.#isOpen) throw unavailable("the palace driver is not open", "");
    return this.#running();
  }

  #running(): Promise<Thread<FilesMethods>> {
    if (this.#closed) return Promise.reject(unavailable("the palace driver is closed", "palace status"));
    return this.#thread.start();
  }
}
