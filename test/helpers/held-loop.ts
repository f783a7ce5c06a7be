/**
 * Measures how long one call blocks the broker's event loop. A prober sends requests all the time, and its longest wait is the result. Time
 * in which the broker's main thread waited for a processor is subtracted, because a busy machine causes it.
 */
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";

/**
 * Returns the longest time, ms, that handling a call may block the loop: 100 ms, or four times `readMs` on a slow machine. `readMs`: time
 * in which the machine only reads the call.
 */
export const heldMaxMs = (readMs: number): number => Math.max(100, 4 * readMs);

/** Returns the prober's longest wait, ms, during the call, without the time that other processes took. `broker` is the broker's pid. */
export async function heldBy(broker: number, prober: Client, call: () => Promise<unknown>): Promise<number> {
  let answered = false;
  const waits = probesUntil(broker, prober, () => answered);
  await call().catch(() => undefined);
  answered = true;
  return (await waits).reduce((longest, wait) => Math.max(longest, wait), 0);
}

/** Sends probes one after another, at least one, until `ended` returns true. Returns how long each probe waited, ms. */
async function probesUntil(broker: number, prober: Client, ended: () => boolean): Promise<number[]> {
  const waits: number[] = [];
  do {
    const [sent, queued] = [performance.now(), queuedMs(broker)];
    await prober.call("palace.status", {});
    waits.push(performance.now() - sent - (queuedMs(broker) - queued));
    await turn();
  } while (!ended());
  return waits;
}

/** Returns the total time, ms, in which the broker's main thread was ready to run but had no processor. Linux counts it in nanoseconds. */
function queuedMs(broker: number): number {
  const [, queued] = readFileSync(`/proc/${broker}/task/${broker}/schedstat`, "utf8").split(" ");
  return Number(queued) / 1e6;
}
