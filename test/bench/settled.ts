/** Waiting for a broker that goes on by itself after it has answered: what is measured then is the call alone. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/wire/client/client.ts";

/** Resolves when the model answers and nothing waits for its vector. */
export async function allEmbedded(client: Client): Promise<void> {
  for (;;) {
    const { search } = await client.call("palace.status", {});
    if (search.modelState === "ready" && search.pending === 0) return;
    await delay(20);
  }
}

/** Resolves when the broker has nothing left to do by itself: no closet waits for its vector, no row for the public palace. */
export async function allQuiet(client: Client): Promise<void> {
  await allEmbedded(client);
  for (;;) {
    const { closets, driver } = await client.call("palace.status", {});
    if (closets.pending === 0 && closets.lag === 0 && driver.lag === 0) return;
    await delay(50);
  }
}
