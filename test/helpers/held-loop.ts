/**
 * How long one call holds the broker's loop: a prober asks all the while, and its longest wait is that. A machine can be
 * slow for reasons of its own: what the broker's main thread waited for a processor is taken off.
 */
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";

/** Nobody is held longer beyond what reading the call takes, or, on a machine that is slow at that, than four readings. */
export const heldMaxMs = (readMs: number): number => Math.max(100, 4 * readMs);

/** The prober's longest wait beside the call, ms; other processes do not count. `broker` is its pid. */
export async function heldBy(broker: number, prober: Client, call: () => Promise<unknown>): Promise<number> {
  let answered = false;
  const waits = probesUntil(broker, prober, () => answered);
  await call().catch(() => undefined);
  answered = true;
  return (await waits).reduce((longest, wait) => Math.max(longest, wait), 0);
}

/** One probe at least, and the one that is under way when `ended` comes true. */
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

/** How long the broker's main thread was ready to run and had no processor, in all. Linux counts it in nanoseconds. */
function queuedMs(broker: number): number {
  const [, queued] = readFileSync(`/proc/${broker}/task/${broker}/schedstat`, "utf8").split(" ");
  return Number(queued) / 1e6;
}
