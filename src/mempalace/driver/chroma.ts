/** The driver for a Chroma server. Every request has a time-out, and at most one write runs. */
import type { Collection } from "chromadb";
import type { ChromaConfig } from "../../config/config.ts";
import type { Log } from "../../base/log.ts";
import type { Metadata, PlaceFilter } from "../../memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../memory/port/public-palace.ts";
import { badValue, PalaceError, unavailable } from "../../base/errors.ts";
import { chromaError, timeoutError } from "./chroma-error.ts";
import {
  type ChromaPlace,
  chromaPlace,
  openCollection,
  placeName,
  readServerLimits,
  type ServerLimits,
} from "./chroma-place.ts";
import {
  CHROMA_TIMEOUTS,
  type ChromaTimeouts,
  CLOUD_LIMITS,
  LOCAL_RECORDS_MAX,
  objectionTo,
  sliceRequests,
} from "./limits.ts";

/** Value that removes a key from a record's metadata: JSON writes NaN as null, while the client omits a plain null. */
const REMOVE_KEY = Number.NaN;
/** Metadata that upstream stores for a record without metadata, because Chroma stores no empty metadata (palace.md 4.6). */
const NO_METADATA: Metadata = { _repaired_empty_meta: true };
/** Metadata in the client's type, in which the values of a list all have one type. Our type allows mixed lists. */
type ClientMetadata = import("chromadb").Metadata;

export type ChromaDriverOptions = { chroma: ChromaConfig; log: Log; timeouts?: ChromaTimeouts; collection?: string };

/** Creates the driver; `open` loads the client and connects. Errors: CONFIG_BAD_VALUE for an unusable URL. */
export function createChromaDriver({
  chroma,
  log,
  timeouts = CHROMA_TIMEOUTS,
  collection,
}: ChromaDriverOptions): PalaceDriver {
  return new ChromaDriver(chromaPlace(chroma, collection), log, timeouts);
}

class ChromaDriver implements PalaceDriver {
  readonly kind = "chroma";
  readonly #place: ChromaPlace;
  readonly #log: Log;
  readonly #timeouts: ChromaTimeouts;
  readonly #inFlight = new Set<AbortController>();
  #server: ServerLimits = { batchMax: CLOUD_LIMITS.recordsMax, base64: false };
  #collectionId: string | undefined;
  /** True after a write without an answer, which the server may still be executing. */
  #unsettled = false;
  #closed = false;

  constructor(place: ChromaPlace, log: Log, timeouts: ChromaTimeouts) {
    this.#place = place;
    this.#log = log;
    this.#timeouts = timeouts;
  }

  /** Contains the collection's id: a collection that was created again is another target, which must be filled again. */
  get target(): string {
    return `${placeName(this.#place)}#${this.#collectionId ?? ""}`;
  }

  get collectionId(): string | undefined {
    return this.#collectionId;
  }

  get recordsMax(): number {
    return Math.min(this.#server.batchMax, this.#place.cloud ? CLOUD_LIMITS.recordsMax : LOCAL_RECORDS_MAX);
  }

  async open(): Promise<void> {
    await this.#bounded(this.#timeouts.readMs, async (signal) => {
      const id = await openCollection(this.#place, signal);
      this.#server = await readServerLimits(this.#place, signal);
      if (id !== this.#collectionId) this.#log.info("chroma.opened", { place: placeName(this.#place), collection: id });
      this.#collectionId = id;
    });
    if (!this.#unsettled) return;
    // Without this wait, the server could execute the unanswered write after the next write, and an older text would remain.
    await new Promise((resolve) => setTimeout(resolve, this.#timeouts.settleMs));
    this.#unsettled = false;
  }

  async upsert(records: readonly PalaceRecord[]): Promise<void> {
    const newest = [...new Map(records.map((record) => [record.id, record])).values()];
    for (const record of newest) {
      const objection = objectionTo(record, this.#place.cloud) ?? unsendable(record);
      if (objection !== undefined) throw badValue(`${record.id}: ${objection}`, "");
    }
    for (const request of sliceRequests(newest, this.recordsMax)) await this.#write(request);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const unique = [...new Set(ids)];
    for (let from = 0; from < unique.length; from += this.recordsMax) {
      const part = unique.slice(from, from + this.recordsMax);
      await this.#change((collection) => collection.delete({ ids: part }));
    }
  }

  async count(): Promise<number> {
    return await this.#read((collection) => collection.count());
  }

  async ids(offset: number, limit: number): Promise<string[]> {
    const pageMax = this.#place.cloud ? CLOUD_LIMITS.resultsMax : limit;
    const ids: string[] = [];
    while (ids.length < limit) {
      const page = { offset: offset + ids.length, limit: Math.min(pageMax, limit - ids.length), include: [] };
      const found = await this.#read(async (collection) => (await collection.get(page)).ids.slice());
      ids.push(...found);
      if (found.length < page.limit) break;
    }
    return ids;
  }

  async query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]> {
    const nResults = this.#place.cloud ? Math.min(limit, CLOUD_LIMITS.resultsMax) : limit;
    if (nResults < 1) return [];
    const where = whereOf(filter);
    return await this.#read(async (collection) => {
      const found = await collection.query({
        queryEmbeddings: [Array.from(vector)],
        nResults,
        include: ["distances"],
        ...(where === undefined ? {} : { where }),
      });
      const [ids, distances = []] = [found.ids[0], found.distances[0]];
      // The client returns no ids if the server's reply has an unexpected form.
      if (ids === undefined) throw new Error("its answer to a query has no list of ids");
      return ids.map((id, i) => ({ id, cosine: 1 - (distances[i] ?? 2) }));
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const request of this.#inFlight) request.abort();
    return Promise.resolve();
  }

  /** Writes one upsert. Chroma merges metadata, so the request explicitly removes keys that the record does not have. */
  async #write(records: readonly PalaceRecord[]): Promise<void> {
    const ids = records.map((record) => record.id);
    const keys = await this.#read(async (collection) => {
      const known = await collection.get({ ids, include: ["metadatas"] });
      return new Map(known.ids.map((id, i) => [id, Object.keys(known.metadatas[i] ?? {})]));
    });
    await this.#change((collection) =>
      collection.upsert({
        ids,
        embeddings: records.map((record) => Array.from(record.vector)),
        documents: records.map((record) => record.text),
        metadatas: records.map(({ id, metadata }) => replaceMetadata(metadata, keys.get(id) ?? [])) as ClientMetadata[],
      }),
    );
  }

  async #change<T>(request: (collection: Collection) => Promise<T>): Promise<T> {
    try {
      return await this.#request(this.#timeouts.writeMs, request);
    } catch (error) {
      if (error instanceof PalaceError && error.retryable) this.#unsettled = true;
      throw error;
    }
  }

  /** Runs a read within the read time-out. Parse the answer inside `request`, so that an unexpected form counts as an error of Chroma. */
  #read<T>(request: (collection: Collection) => Promise<T>): Promise<T> {
    return this.#request(this.#timeouts.readMs, request);
  }

  #request<T>(timeoutMs: number, request: (collection: Collection) => Promise<T>): Promise<T> {
    return this.#bounded(timeoutMs, async (signal) => {
      const id = this.#collectionId;
      if (id === undefined) throw unavailable(`the palace at ${placeName(this.#place)} is not open`, "");
      return await request(await collectionOf(this.#place, id, this.#server, signal));
    });
  }

  /** Runs a request until its time-out or until `close`. Errors: PalaceErrors only. */
  async #bounded<T>(timeoutMs: number, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed) throw unavailable("the palace driver is closed", "");
    const request = new AbortController();
    const timer = setTimeout(() => request.abort(), timeoutMs);
    this.#inFlight.add(request);
    try {
      return await body(request.signal);
    } catch (error) {
      if (request.signal.aborted) throw timeoutError(placeName(this.#place), timeoutMs);
      throw chromaError(error, placeName(this.#place));
    } finally {
      clearTimeout(timer);
      this.#inFlight.delete(request);
    }
  }
}

/** Returns the collection through a client for one request, because Chroma's client accepts an abort signal only when it is created. */
async function collectionOf(
  place: ChromaPlace,
  id: string,
  server: ServerLimits,
  signal: AbortSignal,
): Promise<Collection> {
  const { ChromaClient } = await importClient();
  class OneRequestClient extends ChromaClient {
    constructor() {
      const { host, port, ssl, tenant, database, headers } = place;
      super({ host, port, ssl, tenant, database, headers, fetchOptions: { signal } });
      this.preflightChecks = { max_batch_size: server.batchMax, supports_base64_encoding: server.base64 };
    }
  }
  return new OneRequestClient().collection(id);
}

/** Loads Chroma's client, an optional peer dependency that our images have. Errors: STORE_UNAVAILABLE. */
async function importClient(): Promise<typeof import("chromadb")> {
  try {
    return await import("chromadb");
  } catch (cause) {
    const why = "the driver chroma needs the package chromadb, which is not installed here";
    throw unavailable(why, "npm install -g chromadb@3.5.0, then palace restart", cause);
  }
}

/** Refuses metadata with a key `__proto__`, which the client would lose, because it copies metadata by assignment. */
function unsendable({ metadata }: PalaceRecord): string | undefined {
  if (!Object.hasOwn(metadata, "__proto__")) return undefined;
  return "Chroma's client cannot send its key __proto__; the files driver and `palace export --without-chroma` can";
}

function replaceMetadata(metadata: Metadata, oldKeys: readonly string[]): Metadata {
  const next: Metadata = Object.keys(metadata).length === 0 ? { ...NO_METADATA } : { ...metadata };
  for (const key of oldKeys) if (!Object.hasOwn(next, key)) next[key] = REMOVE_KEY;
  return next;
}

/** Builds the filter. Chroma requires `$and` for two conditions and refuses it for one. */
function whereOf({ wing, room }: PlaceFilter): { wing: string } | { room: string } | WhereBoth | undefined {
  if (wing !== undefined && room !== undefined) return { $and: [{ wing }, { room }] };
  if (wing !== undefined) return { wing };
  if (room !== undefined) return { room };
  return undefined;
}
type WhereBoth = { $and: ({ wing: string } | { room: string })[] };
