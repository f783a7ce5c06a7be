/** The palace that MemPalace reads, as an interface for the outbox. Implemented in mempalace/. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** Row of the public palace that another program wrote. `vector`: by the palace's own model, L2-normalised; undefined if absent. */
export type ForeignRow = { id: string; text: string; metadata: Metadata; vector: Float32Array | undefined };

/** Rows that the ledger adopts from the palace in one transaction. `removed`: drawers that other programs have deleted there. */
export type AdoptionBatch = {
  rows: readonly ForeignRow[];
  removed: readonly string[];
  /** Model of the vectors; undefined if no vectors are adopted. */
  model: string | undefined;
};

/** One drawer as Chroma stores it. Shape: `vector` is Float32Array[dimensions], L2-normalised. */
export type PalaceRecord = { id: string; text: string; metadata: Metadata; vector: Float32Array };

/**
 * Writes the public palace, which Python reads. One contract test (test/contract/palace-driver.test.ts) covers all implementations:
 * `files`, `chroma`, `memory` (tests). Concurrency: only the outbox writes, one call at a time; `query` and `ids` may run in between.
 * Errors: STORE_UNAVAILABLE if the palace cannot be reached now (the outbox retries), STORE_CORRUPT if it is damaged, CONFIG_BAD_VALUE if
 * it can never work (quota, dimension).
 */
export interface PalaceDriver {
  readonly kind: "files" | "chroma" | "memory";
  /** Identifies the palace. If it changes, the outbox sends every row again. */
  readonly target: string;
  /** Id of the collection in Chroma's own files; undefined until the collection is open, or for a driver without such files. */
  readonly collectionId: string | undefined;
  /** Number of repairs at opening; a repair may have lost rows. Undefined if this driver never repairs. */
  readonly repairs?: number;
  /** Maximum number of records in one upsert or remove. */
  readonly recordsMax: number;
  /** Makes the collections if needed. Idempotent. */
  open(): Promise<void>;
  /** Writes records. Idempotent. Replaces metadata as a whole, so keys that are not given are removed. */
  upsert(records: readonly PalaceRecord[]): Promise<void>;
  /** Removes records. Idempotent: unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
  /** Returns all ids, in the palace's order. Used for verification. */
  ids(offset: number, limit: number): Promise<string[]>;
  query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]>;
  close(): Promise<void>;
}

/** A drawer whose newest state the palace does not have yet. A newer change has a higher `seq`. */
export type OutboxEntry = { seq: number; id: string; record: PalaceRecord | null };

/** The durable list from which the outbox sends. The ledger maintains it in the drawer's own transaction. */
export interface OutboxSource {
  /** Returns the oldest entries first. `record: null` means remove. A drawer is listed once it has its vector. */
  peek(limit: number): OutboxEntry[];
  /** Removes entries from the outbox, each only if it has not changed since `peek`. */
  done(entries: readonly { id: string; seq: number }[]): Promise<void>;
  /** Returns the lag. It is the sum of `entries` (rows in the outbox) and `awaitingVector` (drawers that have no vector yet). */
  lag(): { entries: number; oldestAtMs: number | null; awaitingVector: number };
  /** Lists every drawer again if `target` differs from the palace that was written so far. */
  retarget(target: string): Promise<void>;
}
