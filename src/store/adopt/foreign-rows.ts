/**
 * What the palace holds and the ledger does not: rows of others, rows of ours that others have changed, and drawers that
 * others have deleted there. Reads only, page by page, and keeps no list of its own: what was taken over is known the next
 * time. Runs on a thread (read-thread.ts).
 */
import { countRows, PalaceVectors, readRows, readTail, type PalaceRow } from "../driver/files/palace-file.ts";
import { OPERATION } from "../driver/files/queue.ts";
import { topicOf } from "../driver/files/palace-file.ts";
import type { LedgerDatabase } from "../ledger/open.ts";
import { isSameRow } from "../ledger/record.ts";
import type { Metadata, TakenRow } from "../port.ts";
import type { ChromaCollection, ChromaDatabase } from "../watch/chroma-file.ts";

/**
 * What of the palace is another's work: rows numbered above `sinceSeq` were written after palace and ledger last agreed.
 * Deletions above `untilSeq` happened while the broker ran, and are undone instead (watch.ts).
 */
export type Horizon = { sinceSeq: number; untilSeq: number };

/** Rows read before the caller hears of it, and rows given at once. */
const PAGE_ROWS = 200;
const PAGES_PER_BATCH = 10;
const SAMPLE_ROWS_MAX = 2_000;

/** Which of the ledger's tables the rows belong to. */
export type RowKind = "drawers" | "closets";

/** What the ledger knows of ids, which it is asked twice: its own rows, and removals still on their way. */
const KNOWN: Readonly<Record<RowKind, string>> = {
  drawers: `
    SELECT d.id, d.text, d.metadata,
        EXISTS (SELECT 1 FROM vector v WHERE v.row = d.row) AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = d.id) AS settled
      FROM drawer d WHERE d.id IN (SELECT value FROM json_each(?))
    UNION ALL
    SELECT o.id, '', '{}', 0 FROM outbox o
      WHERE o.id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM drawer d WHERE d.id = o.id)`,
  closets: `
    SELECT c.id, c.text, c.metadata,
        c.vector IS NOT NULL AND NOT EXISTS (SELECT 1 FROM closet_outbox o WHERE o.id = c.id) AS settled
      FROM closet c WHERE c.id IN (SELECT value FROM json_each(?))
    UNION ALL
    SELECT o.id, '', '{}', 0 FROM closet_outbox o
      WHERE o.id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM closet c WHERE c.id = o.id)`,
};

type Known = { text: string; metadata: Metadata; settled: boolean };

export class ForeignRows {
  readonly #palace: ChromaDatabase;
  readonly #ledger: LedgerDatabase;
  readonly #collection: ChromaCollection;
  readonly #horizon: Horizon;
  readonly #kind: RowKind;
  readonly #vectors: PalaceVectors;
  readonly #tail: Map<string, PalaceRow | undefined>;
  #after = 0;
  #pagesDone = false;
  readonly total: number;

  constructor(options: {
    palace: ChromaDatabase;
    palaceDir: string;
    collection: ChromaCollection;
    ledger: LedgerDatabase;
    horizon: Horizon;
    kind?: RowKind | undefined;
  }) {
    const { palace, palaceDir, collection, ledger, horizon, kind = "drawers" } = options;
    this.#palace = palace;
    this.#ledger = ledger;
    this.#collection = collection;
    this.#horizon = horizon;
    this.#kind = kind;
    this.#vectors = new PalaceVectors(palace, palaceDir, collection);
    this.#tail = readTail(palace, collection).rows;
    this.total = countRows(palace, collection);
  }

  /** Why the vectors of its index cannot be read. */
  get torn(): string | undefined {
    return this.#vectors.torn;
  }

  /** Rows read, and those of them that are to be taken over; `done` with the last. */
  next(): { read: number; rows: TakenRow[]; removed: string[]; done: boolean } {
    let read = 0;
    const rows: TakenRow[] = [];
    for (let pages = 0; pages < PAGES_PER_BATCH && rows.length < PAGE_ROWS && !this.#pagesDone; pages++) {
      const page = readRows(this.#palace, this.#collection, this.#after, PAGE_ROWS);
      this.#pagesDone = page.length === 0;
      this.#after = page.at(-1)?.row ?? this.#after;
      read += page.length;
      rows.push(...this.#foreign(page.filter(({ id }) => !this.#tail.has(id))));
    }
    if (!this.#pagesDone) return { read, rows, removed: [], done: false };
    const tail = [...this.#tail.values()].flatMap((row) => row ?? []);
    rows.push(...this.#foreign(tail));
    return { read, rows, removed: this.#removed(), done: true };
  }

  /** Some rows with their vectors, to see whose model they are of. */
  sample(limit: number): { text: string; vector: Float32Array }[] {
    const found: { text: string; vector: Float32Array }[] = [];
    for (let after = 0, read = 0; found.length < limit && read < SAMPLE_ROWS_MAX;) {
      const page = readRows(this.#palace, this.#collection, after, PAGE_ROWS);
      if (page.length === 0) break;
      after = page.at(-1)?.row ?? after;
      read += page.length;
      for (const { id, text } of page) {
        const vector = this.#vector(id);
        if (vector !== undefined && text !== "" && found.length < limit) found.push({ text, vector });
      }
    }
    return found;
  }

  close(): void {
    this.#vectors.close();
  }

  #foreign(rows: readonly PalaceRow[]): TakenRow[] {
    const known = this.#known(rows.map(({ id }) => id));
    return rows.flatMap((row) => {
      const ours = known.get(row.id);
      const isTaken = ours === undefined || (ours.settled && row.seq > this.#horizon.sinceSeq && !isSameRow(ours, row));
      const { id, text, metadata } = row;
      return isTaken ? [{ id, text, metadata, vector: this.#vector(id) }] : [];
    });
  }

  #vector(id: string): Float32Array | undefined {
    const vector = this.#vectors.vector(id);
    return vector === undefined ? undefined : normalised(vector);
  }

  /** Deleted by somebody, as the queue says; a drawer that is merely not there may have been lost. */
  #removed(): string[] {
    const { sinceSeq, untilSeq } = this.#horizon;
    const deleted = this.#palace
      .prepare<[string, number, number, number, string], string>(
        `SELECT DISTINCT q.id FROM embeddings_queue q WHERE topic = ? AND seq_id > ? AND seq_id <= ? AND operation = ?
           AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.segment_id = ? AND e.embedding_id = q.id)`,
      )
      .pluck()
      .all(topicOf(this.#collection), sinceSeq, untilSeq, OPERATION.delete, this.#collection.metadataSegment);
    const known = this.#known(deleted);
    return deleted.filter((id) => known.get(id)?.settled === true && this.#tail.get(id) === undefined);
  }

  /** What the ledger knows of these ids; a removal still on its way is known and not settled. */
  #known(ids: readonly string[]): Map<string, Known> {
    const list = JSON.stringify(ids);
    const found = this.#ledger
      .prepare<[string, string], { id: string; text: string; metadata: string; settled: number }>(KNOWN[this.#kind])
      .all(list, list);
    return new Map(
      found.map(({ id, text, metadata, settled }) => [
        id,
        { text, metadata: JSON.parse(metadata) as Metadata, settled: settled === 1 },
      ]),
    );
  }
}

/** Undefined for a vector without a direction. */
function normalised(vector: Float32Array): Float32Array | undefined {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : undefined;
}
