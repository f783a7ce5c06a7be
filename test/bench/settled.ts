/** Waits until a broker's background work ends, so that it does not disturb the next measurement. */
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Client } from "../../src/wire/client/client.ts";

/** Resolves when the model answers and every drawer has its vector. */
export async function allEmbedded(client: Client): Promise<void> {
  for (;;) {
    const { search } = await client.call("palace.status", {});
    if (search.modelState === "ready" && search.pending === 0) return;
    await delay(20);
  }
}

/** Resolves when every closet also has its vector and the public palace has every row. */
export async function allQuiet(client: Client): Promise<void> {
  await allEmbedded(client);
  for (;;) {
    const { closets, driver } = await client.call("palace.status", {});
    if (closets.pending === 0 && closets.lag === 0 && driver.lag === 0) return;
    await delay(50);
  }
}

/** Resolves when every changed source is indexed: its words, and the headings above its drawers. */
export async function allIndexed(ledgerFile: string): Promise<void> {
  const ledger = new Database(ledgerFile, { readonly: true });
  const waiting = ledger.prepare("SELECT count(*) FROM source_dirty").pluck();
  while (waiting.get() !== 0) await delay(50);
  ledger.close();
}

/** Resolves when a process used less than 5 % of a core for five seconds. `usedMs` returns its processor time, ms. */
export async function atRest(usedMs: () => number): Promise<void> {
  for (let before = -Infinity; usedMs() - before >= 250;) {
    before = usedMs();
    await delay(5_000);
  }
}
