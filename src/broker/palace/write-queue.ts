/** Queue of all writes, committed in groups with one write from each peer in turn, so that a feeder hardly delays an agent. */
import { existsSync } from "node:fs";
import type { Changes, WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import type { VectorIndex } from "../../memory/port/search.ts";
import { PalaceError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { goneError } from "../../base/state-files.ts";
import type { Thread } from "../../base/thread.ts";
import { currentSpan, type Span } from "../../base/trace.ts";
import {
  COMMIT_BATCH_MAX,
  QUEUE_DEPTH_MAX,
  QUEUE_DEPTH_PEER_MAX,
  QUEUE_SIZE_MAX_BYTES,
} from "../../protocol/limits.ts";
import { rpcErrorOf } from "../../protocol/rpc-error.ts";
import { isRefusal } from "../../protocol/tools/result.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Wakes } from "./wake-up-calls.ts";
import type { WriterMethods } from "./writer-thread.ts";

/** A group with this many bytes of text takes no further write. This limits how long an interactive write waits for the group before it. */
const GROUP_SIZE_MAX_BYTES = 512 * 1024;

type Waiting = {
  call: WriteCall;
  resolve: (outcome: WriteOutcome) => void;
  reject: (error: Error) => void;
  signal: AbortSignal | undefined;
  span: Span | undefined;
  /** Trace span of the call's wait in the queue. */
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
  /** Number of writes that were done. A repeated write counts once, and a refused one does not count. */
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

  /** Resolves when the write is synced or refused. `signal` cancels only a waiting write. Errors: BROKER_BUSY, the signal's reason. */
  submit(peerId: number, call: WriteCall, sizeBytes: number, signal?: AbortSignal): Promise<WriteOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>();
    const waiting: Waiting = { call, resolve, reject, signal, span: currentSpan(), waited: undefined };
    this.#waiting.push(peerId, waiting, sizeBytes);
    waiting.waited = waiting.span?.begin("palace.write.queue");
    this.#committing ??= this.#run();
    return promise;
  }

  async drain(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  async #run(): Promise<void> {
    // Waits one turn of the event loop, so that writes that arrived together join one group.
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

export type LedgerQueueOptions = {
  writer: Pick<Thread<WriterMethods>, "call">;
  ledgerFile: string;
  vectors: Pick<VectorIndex, "refresh">;
  wakes: Wakes;
  log: Log;
  /** Called when the ledger is lost or the writer's thread has died: the broker must end. */
  onFatal: (error: PalaceError) => void;
};

const WATCH_MS = 1_000;
/** Empty changes, for a group that failed as a whole and for a group of the coordination log. */
export const NO_CHANGES: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

export function ledgerQueue(options: LedgerQueueOptions): WriteQueue {
  const { vectors, wakes, log } = options;
  return new WriteQueue({
    commit: (calls) => commit(options, calls),
    onCommit: (changes) => {
      if (changes.written.length + changes.removed.length > 0)
        void vectors
          .refresh(changes)
          .catch((error: unknown) => log.error("vector index not refreshed", { why: String(error) }));
      // Lets the caller's answer go out first.
      setImmediate(() => announce(changes, wakes));
    },
  });
}

async function commit(
  { writer, ledgerFile, log, onFatal }: LedgerQueueOptions,
  calls: WriteCall[],
): Promise<{ outcomes: WriteOutcome[]; changes: Changes }> {
  try {
    const result = await writer.call("commit", calls);
    const gone = result.outcomes
      .map(({ outcome }) => (outcome.ok ? undefined : asGone(outcome.error)))
      .find((error) => error !== undefined);
    endIfGone(gone, { ledgerFile, onFatal });
    return result;
  } catch (error) {
    // The writer thread has died, perhaps after it committed the writes, so clients repeat the calls with the next broker.
    const known = new PalaceError("BROKER_SHUTTING_DOWN", "the ledger's writer ended", "repeat the call", {
      cause: error,
    });
    log.error("the ledger's writer ended", { why: String(error) });
    onFatal(known);
    return { outcomes: refuseAll(calls, known), changes: NO_CHANGES };
  }
}

/** Refuses all calls of a group whose thread gave no answer. */
export function refuseAll(calls: readonly WriteCall[], error: PalaceError): WriteOutcome[] {
  return calls.map(() => ({ outcome: { ok: false, error: rpcErrorOf(error) }, replayed: false }));
}

function asGone({ message, data }: { message: string; data?: unknown }): PalaceError | undefined {
  const { code, hint = "" } = (data ?? {}) as { code?: string; hint?: string };
  return code === "PALACE_GONE" ? new PalaceError(code, message, hint) : undefined;
}

type Ending = Pick<LedgerQueueOptions, "ledgerFile" | "onFatal">;

/** Ends the broker if `error` is PALACE_GONE. If only the write-ahead log vanished, the next broker can open the ledger. */
export function endIfGone(error: unknown, { ledgerFile, onFatal }: Ending): void {
  if (error instanceof PalaceError && error.code === "PALACE_GONE")
    onFatal(existsSync(ledgerFile) ? error : goneError(ledgerFile));
}

/** Calls `assertPresent` every second; ends the broker when it throws PALACE_GONE. Returns a function that ends the watch. */
export function watchPresence(assertPresent: () => Promise<void>, ending: Ending): () => void {
  const timer = setInterval(() => {
    assertPresent().catch((error: unknown) => endIfGone(error, ending));
  }, WATCH_MS).unref();
  return () => clearInterval(timer);
}

function announce({ added, written, removed, graph, closets }: Changes, wakes: Wakes): void {
  if (graph > 0) wakes.wake("graph");
  if (closets + removed.length > 0) wakes.wake("closets");
  if (removed.length + graph > 0) wakes.wake("erasure");
  if (added + written.length + removed.length > 0) wakes.wake("backlog", "outbox", "upkeep");
}
