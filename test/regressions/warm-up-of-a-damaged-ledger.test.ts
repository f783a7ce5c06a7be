/** A ledger that cannot be read in one place ended its broker a moment after each start: the look whether it is busy was not caught. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startWarmUp } from "../../src/broker/palace/warm-up.ts";
import { createLog } from "../../src/base/log.ts";

test("what cannot be asked whether it is busy is not warmed up, and nothing else happens", async () => {
  const searches: string[] = [];
  const unhandled: unknown[] = [];
  const listen = (error: unknown): number => unhandled.push(error);
  process.on("unhandledRejection", listen);
  onTestFinished(() => void process.off("unhandledRejection", listen));
  const looked = Promise.withResolvers<void>();
  const end = startWarmUp({
    search: async (query) => searches.push(query),
    texts: () => ["some words"],
    isBusy: () => {
      looked.resolve();
      throw new Error("database disk image is malformed");
    },
    log: createLog(() => {}, "error"),
  });
  onTestFinished(end);
  await looked.promise;
  await sleep(50);
  expect([unhandled, searches]).toEqual([[], []]);
});
