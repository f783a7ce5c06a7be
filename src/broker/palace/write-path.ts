/**
 * Passes writes from the queue to the writer thread, and tells the other parts of the palace about the changes. The rules of a write are in
 * the wings' tools, its transaction is in the ledger.
 */
import { existsSync } from "node:fs";
import type { Log } from "../../base/log.ts";
import { goneError } from "../../base/state-files.ts";
import type { Thread } from "../../base/thread.ts";
import type { Changes, WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import type { VectorIndex } from "../../memory/port/search.ts";
import { PalaceError } from "../../base/errors.ts";
import { rpcErrorOf } from "../../protocol/rpc-error.ts";
import { WriteQueue } from "./write-queue.ts";
import type { Wakes } from "./wake-up-calls.ts";
import type { WriterMethods } from "./writer-thread.ts";

export type WritePathOptions = {
  writer: Pick<Thread<WriterMethods>, "call">;
  ledgerFile: string;
  vectors: Pick<VectorIndex, "refresh">;
  wakes: Wakes;
  log: Log;
  /** Called when the ledger is lost or the writer's thread has died: the broker must end. */
  onFatal: (error: PalaceError) => void;
};

const WATCH_MS = 1_000;
/** Changes of a group that failed as a whole. */
const NO_CHANGES: Changes = { added: 0, written: [], removed: [], graph: 0, closets: 0 };

export function createWritePath(options: WritePathOptions): WriteQueue {
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
  { writer, ledgerFile, log, onFatal }: WritePathOptions,
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

/** Returns the outcomes of a group that its thread has not answered. */
export function refuseAll(calls: readonly WriteCall[], error: PalaceError): WriteOutcome[] {
  return calls.map(() => ({ outcome: { ok: false, error: rpcErrorOf(error) }, replayed: false }));
}

function asGone({ message, data }: { message: string; data?: unknown }): PalaceError | undefined {
  const { code, hint = "" } = (data ?? {}) as { code?: string; hint?: string };
  return code === "PALACE_GONE" ? new PalaceError(code, message, hint) : undefined;
}

type Ending = Pick<WritePathOptions, "ledgerFile" | "onFatal">;

/** Ends the broker if `error` is PALACE_GONE. The next broker opens a ledger without its write-ahead log, but no vanished ledger. */
export function endIfGone(error: unknown, { ledgerFile, onFatal }: Ending): void {
  if (error instanceof PalaceError && error.code === "PALACE_GONE")
    onFatal(existsSync(ledgerFile) ? error : goneError(ledgerFile));
}

/** Watches for a missing file or log every second; `assertPresent` then throws PALACE_GONE. Returns a function that ends the watch. */
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
