/** The public palace (MemPalace's own files) as an interface for the outbox. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** Row of the public palace that another program wrote. `vector`: L2-normalised, by the palace's model; undefined if absent. */
export type ForeignRow = { id: string; text: string; metadata: Metadata; vector: Float32Array | undefined };

/** Changes that the ledger adopts in one transaction. `removed`: drawers that other programs deleted in the palace. */
export type AdoptionBatch = {
  rows: readonly ForeignRow[];
  removed: readonly string[];
  /** Model of the vectors; undefined if no vectors are adopted. */
  model: string | undefined;
};

/** One drawer as Chroma stores it. `vector` is L2-normalised. */
export type PalaceRecord = { id: string; text: string; metadata: Metadata; vector: Float32Array };

/**
 * Writes the public palace. Concurrency: one write at a time; `query` and `ids` may run meanwhile. Errors: STORE_UNAVAILABLE if the palace
 * cannot be reached now (the outbox retries), STORE_CORRUPT if it is damaged, CONFIG_BAD_VALUE if it can never work (quota, dimension).
 */
export interface PalaceDriver {
  readonly kind: "files" | "chroma" | "memory";
  /** Name of the palace. If it changes, the outbox sends every row again. */
  readonly target: string;
  /** Id of the collection in Chroma's own files; undefined until it is open, and for a driver without such files. */
  readonly collectionId: string | undefined;
  /** Number of repairs at opening, each of which may have lost rows. Undefined if the driver never repairs. */
  readonly repairs?: number;
  /** Maximum number of records in one upsert or remove. */
  readonly recordsMax: number;
  /** Creates missing collections. Idempotent. */
  open(): Promise<void>;
  /** Adds or replaces records. Idempotent. Metadata is replaced as a whole, so missing keys are removed. */
  upsert(records: readonly PalaceRecord[]): Promise<void>;
  /** Idempotent: unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
  /** Returns a page of all ids, in the palace's order. */
  ids(offset: number, limit: number): Promise<string[]>;
  query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]>;
  close(): Promise<void>;
}

/** A drawer whose newest state the palace does not have yet; a null record means that it was removed. A newer change has a higher `seq`. */
export type OutboxEntry = { seq: number; id: string; record: PalaceRecord | null };

/** The durable list from which the outbox sends. Each write changes the list in its own transaction. */
export interface OutboxSource {
  /** Returns the oldest entries. A drawer is listed once it has its vector. */
  peek(limit: number): OutboxEntry[];
  /** Removes entries that have not changed since `peek`. */
  done(entries: readonly { id: string; seq: number }[]): Promise<void>;
  /** Returns the two parts of the lag: `entries` (rows in the outbox) and `awaitingVector` (drawers without a vector). */
  lag(): { entries: number; oldestAtMs: number | null; awaitingVector: number };
  /** Lists every drawer again if `target` is another palace than before. */
  retarget(target: string): Promise<void>;
}
