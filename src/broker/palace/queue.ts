/**
 * The one bounded write queue. Writes of all peers wait here, one peer's in order; groups are taken in turns, one write a
 * peer, so that a feeder with a thousand documents does not stand before an agent with one note. One group is being
 * committed at any time; what arrives meanwhile is the next group.
 */
import type { Changes, WriteCall, WriteOutcome } from "../../port/ledger.ts";
import type { PalaceError } from "../../protocol/errors.ts";
import {
  COMMIT_BATCH_MAX,
  QUEUE_DEPTH_MAX,
  QUEUE_DEPTH_PEER_MAX,
  QUEUE_SIZE_MAX_BYTES,
} from "../../protocol/limits.ts";
import { FairQueue } from "./fair-queue.ts";

/** Text in one group: bounds how long the group before an interactive write takes. */
const GROUP_SIZE_MAX_BYTES = 2 * 1024 * 1024;

type Waiting = {
  call: WriteCall;
  resolve: (outcome: WriteOutcome) => void;
  reject: (error: Error) => void;
  signal: AbortSignal | undefined;
};

export type WriteQueueOptions = {
  /** Never throws; one outcome a call. */
  commit: (calls: WriteCall[]) => Promise<{ outcomes: WriteOutcome[]; changes: Changes }>;
  onCommit: (changes: Changes) => void;
};

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #lanes = new FairQueue<Waiting>({
    depth: QUEUE_DEPTH_MAX,
    depthPeer: QUEUE_DEPTH_PEER_MAX,
    sizeBytes: QUEUE_SIZE_MAX_BYTES,
    what: "writes",
  });
  #committing: Promise<void> | undefined;
  acknowledged = 0;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  get depth(): number {
    return this.#lanes.depth;
  }

  get refused(): number {
    return this.#lanes.refused;
  }

  get depthMax(): number {
    return QUEUE_DEPTH_MAX;
  }

  /**
   * Resolves when the write is committed and fsynced, or refused for good. `signal` takes it back while it waits; once its
   * group is being committed it is done. Errors: BROKER_BUSY with a retry hint, the signal's reason.
   */
  submit(peerId: number, call: WriteCall, sizeBytes: number, signal?: AbortSignal): Promise<WriteOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>();
    this.#lanes.push(peerId, { call, resolve, reject, signal }, sizeBytes);
    this.#committing ??= this.#run();
    return promise;
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  async #run(): Promise<void> {
    // One turn of the event loop first: what came in the same read belongs to the same group.
    await new Promise(setImmediate);
    while (this.#lanes.depth > 0) {
      const group = this.#takeGroup();
      if (group.length === 0) continue;
      const { outcomes, changes } = await this.#options.commit(group.map(({ call }) => call));
      this.#options.onCommit(changes);
      group.forEach(({ resolve }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) return;
        if (outcome.outcome.ok) this.acknowledged += 1;
        resolve(outcome);
      });
    }
    this.#committing = undefined;
  }

  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let sizeBytes = 0;
    while (group.length < COMMIT_BATCH_MAX && sizeBytes < GROUP_SIZE_MAX_BYTES) {
      const next = this.#lanes.shift();
      if (next === undefined) break;
      const { signal, reject } = next.item;
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

/** Of each write of a group that the writer has not answered. */
export function notCommitted(error: PalaceError): WriteOutcome {
  return {
    outcome: { ok: false, error: { code: -32000, message: error.message, data: error.toWire() } },
    replayed: false,
  };
}
