/** Ages memories: moves or removes those whose time in their collection is over, soon after the broker's start and then every hour. */
import { randomUUID } from "node:crypto";
import { type Profile, profilesIn, readerOf } from "../../learning/memory/profiles.ts";
import { type AgeRequest, dueMemories } from "../../learning/scoring/retention.ts";
import { isTrueTime, tick, type TrueTime } from "../../learning/scoring/true-time.ts";
import { moment } from "../../base/uptime.ts";
import type { Log } from "../../base/log.ts";
import { parseJson } from "../../base/parse-json.ts";
import type { Thread } from "../../base/thread.ts";
import type { LedgerReader, WriteCall } from "../../memory/port/ledger.ts";
import type { WriteQueue } from "./write-queue.ts";
import type { WriterMethods } from "./writer-thread.ts";

export type AgeingOptions = {
  reader: LedgerReader & { meta(key: string): string | undefined; lastRow(): number };
  queue: Pick<WriteQueue, "submit">;
  writer: Pick<Thread<WriterMethods>, "call">;
  log: Log;
};

/** Name in the journal, for `palace history undo --client`. */
const AGENT = "palace ageing";
/** Peer id of the ageing's writes in the queue; no connection has this id. */
const PEER = 0;
/** Pause after the broker's start, ms, so that the first requests do not wait. */
const BEGIN_MS = 2_000;
/** Time between checks for a jump of the clock. */
const TICK_MS = 60_000;
/** Number of these checks between two searches for due memories. */
const TICKS_A_LOOK = 60;
const TRUE_TIME = "memories_true_time";

export function startAgeing({ reader, writer, queue, log }: AgeingOptions): () => void {
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let time = lastTick(reader);
  const look = async ({ trueMs, shifts }: TrueTime, isStart: boolean, profile: Profile): Promise<void> => {
    const now = { trueMs, shifts };
    const seen = new Set<string>();
    while (!isEnded) {
      const ids = await dueMemories({ reader: readerOf(reader, profile), seen }, now, isStart);
      if (ids.length === 0) break;
      const request: AgeRequest = { ids, time: now, isStart, ...(profile !== undefined && { profile }) };
      const { outcome } = await queue.submit(PEER, callOf(request), ids.join().length);
      if (!outcome.ok) throw new Error(outcome.error.message);
      log.info("memories aged", outcome.value as { moved: number; gone: number });
      for (const id of ids) seen.add(id);
    }
  };
  const next = async (nth: number): Promise<void> => {
    try {
      const last = time;
      time = tick(last, moment(), reader.lastRow());
      const hasJumped = last !== undefined && time.shifts !== last.shifts;
      if (hasJumped)
        log.info("the clock does not show how much time has passed", { aheadMs: time.shifts.at(-1)?.aheadMs });
      const isLook = nth % TICKS_A_LOOK === 1;
      const profiles = isLook ? [...profilesIn(reader.places())] : [];
      const isFiling = time.lastRow !== last?.lastRow;
      if (nth === 0 || hasJumped || isFiling || profiles.length > 0)
        await writer.call("putMeta", TRUE_TIME, JSON.stringify(time));
      for (const profile of profiles) await look(time, nth === 1, profile);
    } catch (error) {
      if (!isEnded) log.warn("the broker could not age the memories", { why: String(error) });
    }
    if (!isEnded) timer = setTimeout(() => void next(nth + 1), nth === 0 ? BEGIN_MS : TICK_MS).unref();
  };
  // Runs before the first write, because the machine's clock may have changed since the last start.
  void next(0);
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

function lastTick(reader: AgeingOptions["reader"]): TrueTime | undefined {
  const noted = parseJson(reader.meta(TRUE_TIME) ?? "");
  return isTrueTime(noted) ? noted : undefined;
}

function callOf(params: AgeRequest): WriteCall {
  const atMs = Date.now();
  return {
    ...{ key: randomUUID(), isRepeatable: false, method: "memory.age", params, requestId: "" },
    ...{ peer: { agent: AGENT, door: "broker", uid: process.getuid?.() ?? -1, pid: process.pid }, atMs },
  };
}
