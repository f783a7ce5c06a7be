/** The palace that MemPalace reads, as an interface for the outbox. Implemented in mempalace/. */
import type { Metadata, PlaceFilter } from "./drawer.ts";

/** Row of the public palace that another program wrote. `vector`: L2-normalised and of the palace's own model, if it has one. */
export type ForeignRow = { id: string; text: string; metadata: Metadata; vector: Float32Array | undefined };

/** Rows that the ledger adopts from the palace in one transaction; `removed` are drawers that others have deleted there. */
export type AdoptionBatch = {
  rows: readonly ForeignRow[];
  removed: readonly string[];
  /** Model of the vectors; undefined when no vectors are adopted. */
  model: string | undefined;
};

/** One drawer as Chroma stores it. Shape: `vector` is Float32Array[dimensions], L2-normalised. */
export type PalaceRecord = { id: string; text: string; metadata: Metadata; vector: Float32Array };

/**
 * Writes the public palace, which Python reads. One contract test (test/contract/palace-driver.test.ts) for several implementations:
 * `files`, `chroma`, `memory` (tests). Concurrency: the outbox is the only caller and calls one method at a time; `query` and `ids` may
 * come in between. Errors: STORE_UNAVAILABLE when the palace cannot be reached now (the outbox retries), STORE_CORRUPT when it answers that
 * it is damaged, CONFIG_BAD_VALUE when it can never work so (quota, dimension).
 */
export interface PalaceDriver {
  readonly kind: "files" | "chroma" | "memory";
  /** Identifies the palace. If it changes, the outbox sends every row again. */
  readonly target: string;
  /** Names the collection in Chroma's own files; undefined until it is open, or where there are none. */
  readonly collectionId: string | undefined;
  /** Number of repairs at opening; a repair may have lost rows. Absent: this driver never repairs. */
  readonly repairs?: number;
  /** Most records in one upsert or remove. */
  readonly recordsMax: number;
  /** Makes the collections if needed. Idempotent. */
  open(): Promise<void>;
  /** Idempotent. Replaces metadata as a whole, so keys that are not given are removed. */
  upsert(records: readonly PalaceRecord[]): Promise<void>;
  /** Idempotent: unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
  /** Returns all ids, ordered by the palace; for verification. */
  ids(offset: number, limit: number): Promise<string[]>;
  query(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<{ id: string; cosine: number }[]>;
  close(): Promise<void>;
}

/** A drawer whose newest state the palace does not hold yet. `seq` orders; a newer change has a higher one. */
export type OutboxEntry = { seq: number; id: string; record: PalaceRecord | null };

/** The durable list that the outbox drains; the ledger maintains it in the drawer's own transaction. */
export interface OutboxSource {
  /** Oldest first. `record: null` = remove. A drawer is listed from the moment it has its vector. */
  peek(limit: number): OutboxEntry[];
  /** Removes the entries, each only if it has not changed since `peek`. */
  done(entries: readonly { id: string; seq: number }[]): Promise<void>;
  /** `awaitingVector` drawers are not listed yet and count on top of `entries`. */
  lag(): { entries: number; oldestAtMs: number | null; awaitingVector: number };
  /** Lists every drawer again when `target` is not the one written to so far. */
  retarget(target: string): Promise<void>;
}
