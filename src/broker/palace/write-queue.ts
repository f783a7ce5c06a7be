/**
 * Bounded queue of all writes. Each peer's writes stay in order. A group takes one write from each peer in turn, so a feeder with a
 * thousand documents hardly delays an agent with one note. One group is committed at a time; later writes form the next group.
 */
import type { Changes, WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import { currentSpan, type Span } from "../../base/trace.ts";
import {
  COMMIT_BATCH_MAX,
  QUEUE_DEPTH_MAX,
  QUEUE_DEPTH_PEER_MAX,
  QUEUE_SIZE_MAX_BYTES,
} from "../../protocol/limits.ts";
import { isRefusal } from "../../protocol/tools/result.ts";
import { FairQueue } from "./fair-queue.ts";

/** Maximum bytes of text in one group. It limits how long an interactive write waits for the group before it. */
const GROUP_SIZE_MAX_BYTES = 512 * 1024;

type Waiting = {
  call: WriteCall;
  resolve: (outcome: WriteOutcome) => void;
  reject: (error: Error) => void;
  signal: AbortSignal | undefined;
  /** Span of the call, and span of its wait in the queue. */
  span: Span | undefined;
  waited: Span | undefined;
};

export type WriteQueueOptions = {
  /** Commits the calls and returns one outcome for each. Never throws. */
  commit: (calls: WriteCall[]) => Promise<{ outcomes: WriteOutcome[]; changes: Changes }>;
  onCommit: (changes: Changes) => void;
};

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #waiting = new FairQueue<Waiting>({
    depth: QUEUE_DEPTH_MAX,
    depthPeer: QUEUE_DEPTH_PEER_MAX,
    sizeBytes: QUEUE_SIZE_MAX_BYTES,
    what: "writes",
  });
  #committing: Promise<void> | undefined;
  /** Number of writes that were done. A repeated write counts once, and a refused one counts as refused. */
  acknowledged = 0;
  #refused = 0;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  get depth(): number {
    return this.#waiting.depth;
  }

  get refused(): number {
    return this.#waiting.refused + this.#refused;
  }

  get depthMax(): number {
    return QUEUE_DEPTH_MAX;
  }

  /**
   * Resolves when the write is committed and synced, or finally refused. `signal` cancels it while it waits; a write that is being
   * committed completes. Errors: BROKER_BUSY with a retry hint, the signal's reason.
   */
  submit(peerId: number, call: WriteCall, sizeBytes: number, signal?: AbortSignal): Promise<WriteOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>();
    const waiting: Waiting = { call, resolve, reject, signal, span: currentSpan(), waited: undefined };
    this.#waiting.push(peerId, waiting, sizeBytes);
    waiting.waited = waiting.span?.begin("palace.write.queue");
    this.#committing ??= this.#run();
    return promise;
  }

  /** Resolves when the queue is empty. */
  async drain(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  async #run(): Promise<void> {
    // Waits one turn of the event loop, so that writes from the same read join the same group.
    await new Promise(setImmediate);
    while (this.#waiting.depth > 0) {
      const group = this.#takeGroup();
      if (group.length === 0) continue;
      const commits = group.map(({ span }) => span?.begin("palace.write.commit", { "palace.writes": group.length }));
      const { outcomes, changes } = await this.#options.commit(group.map(({ call }) => call));
      for (const commit of commits) commit?.end();
      this.#options.onCommit(changes);
      group.forEach(({ resolve }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) return;
        if (isRefused(outcome)) this.#refused += 1;
        else if (!outcome.replayed) this.acknowledged += 1;
        resolve(outcome);
      });
    }
    this.#committing = undefined;
  }

  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let sizeBytes = 0;
    while (group.length < COMMIT_BATCH_MAX && sizeBytes < GROUP_SIZE_MAX_BYTES) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      const { signal, reject, waited } = next.item;
      waited?.end();
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        continue;
      }
      group.push(next.item);
      sizeBytes += next.sizeBytes;
    }
    return group;
  }
}

/** Returns true if the write failed or its tool refused it. A repeated write that gets its refusal again does not count. */
function isRefused({ outcome, replayed }: WriteOutcome): boolean {
  return !outcome.ok || (!replayed && isRefusal(outcome.value));
}
