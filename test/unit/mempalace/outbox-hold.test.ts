/** Tests `hold`, which stops an outbox, for example while the ledger adopts foreign rows. */
import { expect, test, vi } from "vitest";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { PalaceRecord } from "../../../src/memory/port/public-palace.ts";
import { startOutbox } from "../../../src/mempalace/outbox.ts";
import { MemoryDriver } from "../../helpers/memory-driver.ts";
import { MemoryOutboxSource, QuickClock } from "../../helpers/memory-outbox.ts";

const record = (id: string): PalaceRecord => ({
  ...{ id, text: `text of ${id}`, metadata: { wing: "w", room: "r" }, vector: new Float32Array([1, 0]) },
});

test("a held outbox finishes the current batch and sends no other batch before release", async () => {
  const [source, inner] = [new MemoryOutboxSource(), new MemoryDriver()];
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await inner.open();
  const driver = new MemoryDriver();
  driver.upsert = async (records) => {
    asked.resolve();
    await gate.promise;
    await inner.upsert(records);
  };
  source.write(record("a"));
  const log = SILENT_LOG;
  const outbox = startOutbox({ source, driver, log, clock: new QuickClock(), onState: () => {} });
  await asked.promise;
  const holding = outbox.hold();
  gate.resolve();
  const release = await holding;
  // The current batch has arrived, so the outbox is empty. Later changes wait.
  expect([inner.read("a") !== undefined, outbox.status().lag]).toEqual([true, 0]);
  source.write(record("b"));
  outbox.wake();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([inner.read("b"), outbox.status().lag]).toEqual([undefined, 1]);
  release();
  await vi.waitFor(() => expect(inner.read("b")).toBeDefined(), { timeout: 10_000, interval: 1 });
  await outbox.stop();
});

test("a hold waits until the outbox lists all drawers for a new palace", async () => {
  const [source, driver] = [new MemoryOutboxSource(), new MemoryDriver()];
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const retarget = source.retarget.bind(source);
  vi.spyOn(source, "retarget").mockImplementation(async (target) => {
    asked.resolve();
    await gate.promise;
    await retarget(target);
  });
  const log = SILENT_LOG;
  const outbox = startOutbox({ source, driver, log, clock: new QuickClock(), onState: () => {} });
  await asked.promise;
  let held = false;
  const holding = outbox.hold().then((release) => ((held = true), release));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(held).toBe(false);
  gate.resolve();
  (await holding)();
  await outbox.stop();
});
