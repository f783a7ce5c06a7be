/** Decides which texts the embedding thread runs next. A query's batch comes first, so a search waits for at most one batch. */

export type Lane = "query" | "rerank" | "backlog";
export type Job<T> = { items: T[]; lane: Lane };

/** Maximum number of texts in a batch. A larger batch takes longer per text (engine.md 4). */
export const BATCH_MAX = 8;
/** Size of a backlog batch while somebody searches, so that the next query waits for one text instead of eight. */
export const BATCH_YIELDING = 1;

type Batch<T> = { job: Job<T>; indexes: number[] };

export class BatchLanes<T> {
  readonly #lanes: Record<Lane, Batch<T>[]> = { query: [], rerank: [], backlog: [] };
  readonly #lengthOf: (item: T) => number;

  constructor(lengthOf: (item: T) => number) {
    this.#lengthOf = lengthOf;
  }

  add(job: Job<T>): void {
    const length = (index: number): number => this.#lengthOf(job.items[index] as T);
    const byLength = job.items.map((_, index) => index).sort((a, b) => length(a) - length(b));
    for (let start = 0; start < byLength.length; start += BATCH_MAX)
      this.#lanes[job.lane].push({ job, indexes: byLength.slice(start, start + BATCH_MAX) });
  }

  get isBacklogAlone(): boolean {
    const { query, rerank, backlog } = this.#lanes;
    return query.length + rerank.length === 0 && backlog.length > 0;
  }

  /** Returns the next batch, of texts of similar lengths. `yielding`: true while somebody searches. */
  next(yielding: boolean): Batch<T> | undefined {
    return this.#lanes.query.shift() ?? this.#lanes.rerank.shift() ?? this.#nextOfBacklog(yielding);
  }

  #nextOfBacklog(yielding: boolean): Batch<T> | undefined {
    const batch = this.#lanes.backlog.shift();
    if (batch === undefined || !yielding || batch.indexes.length <= BATCH_YIELDING) return batch;
    this.#lanes.backlog.unshift({ job: batch.job, indexes: batch.indexes.slice(BATCH_YIELDING) });
    return { job: batch.job, indexes: batch.indexes.slice(0, BATCH_YIELDING) };
  }
}
