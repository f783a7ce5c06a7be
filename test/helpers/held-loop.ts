/** Measures how long a call blocks the broker's event loop, without the time in which the main thread waited for a processor. */
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";

/** Returns the limit, ms, for blocking the loop with one call. `readMs`: measured time for a call of the same size to an unknown tool. */
export const heldMaxMs = (readMs: number): number => Math.max(100, 4 * readMs);

/** Returns the prober's longest wait, ms, during `call`. `broker`: the broker's pid. */
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

/** Returns how long, ms, the broker's main thread has been ready to run but without a processor. Linux counts nanoseconds. */
function queuedMs(broker: number): number {
  const [, queued] = readFileSync(`/proc/${broker}/task/${broker}/schedstat`, "utf8").split(" ");
  return Number(queued) / 1e6;
}
