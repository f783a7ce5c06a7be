/**
 * Memories that learn from outcomes grow old: when a broker has started, and every hour, those that are due are moved or removed by a
 * write of its own, which the journal has as any other. Started by palace.ts.
 */
import { randomUUID } from "node:crypto";
import { AGED_MAX, type AgeRequest, dueMemories } from "../../engine/outcome/retention.ts";
import { MEMORY_WING } from "../../engine/outcome/store.ts";
import type { Log } from "../../platform/log.ts";
import type { Thread } from "../../platform/thread.ts";
import type { LedgerReader, WriteCall } from "../../port/ledger.ts";
import type { WriteQueue } from "./write-queue.ts";
import type { WriterMethods } from "./writer-thread.ts";

export type AgeingOptions = {
  reader: LedgerReader & { meta(key: string): string | undefined };
  queue: Pick<WriteQueue, "submit">;
  writer: Pick<Thread<WriterMethods>, "call">;
  log: Log;
};

/** The name under which the journal has it, for `palace history undo --client`. */
const AGENT = "palace ageing";
/** No connection has this number. */
const PEER = 0;
/** Requests right after a start go first. */
const BEGIN_MS = 2_000;
const EVERY_MS = 3_600_000;
/**
 * One look may advance the clock that memories age by at most this much: a clock that is wrong when the machine starts must not take
 * what is of today. After days without a broker they live on for some hours more.
 */
const STEP_MAX_MS = 6 * 3_600_000;
const AGED_AT = "memories_aged_at_ms";

/** Returns the function that ends it. */
export function startAgeing({ reader, writer, queue, log }: AgeingOptions): () => void {
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (isStart: boolean): Promise<void> => {
    try {
      // A palace without such memories has nothing to read, and nothing to note.
      const hasMemories = reader.places().some(({ wing }) => wing === MEMORY_WING);
      const believedMs = believed(reader, Date.now());
      if (hasMemories) await writer.call("putMeta", AGED_AT, String(believedMs));
      while (!isEnded && hasMemories) {
        const ids = await dueMemories({ reader }, believedMs, isStart);
        if (ids.length === 0) break;
        const { outcome } = await queue.submit(PEER, callOf({ ids, believedMs, isStart }), ids.join().length);
        if (!outcome.ok) throw new Error(outcome.error.message);
        const { moved, gone } = outcome.value as { moved: number; gone: number };
        log.info("memories aged", { moved, gone });
        if (ids.length < AGED_MAX || moved + gone === 0) break;
      }
    } catch (error) {
      if (!isEnded) log.warn("memories were not aged", { why: String(error) });
    }
    if (!isEnded) timer = setTimeout(() => void look(false), EVERY_MS).unref();
  };
  timer = setTimeout(() => void look(true), BEGIN_MS).unref();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

function believed(reader: AgeingOptions["reader"], nowMs: number): number {
  const lastMs = Number(reader.meta(AGED_AT) ?? Number.NaN);
  return Number.isNaN(lastMs) ? nowMs : Math.min(nowMs, lastMs + STEP_MAX_MS);
}

function callOf(params: AgeRequest): WriteCall {
  const atMs = Date.now();
  return {
    ...{ key: randomUUID(), isRepeatable: false, method: "memory.age", params, requestId: "" },
    ...{ peer: { agent: AGENT, door: "broker", uid: process.getuid?.() ?? -1, pid: process.pid }, atMs },
  };
}
