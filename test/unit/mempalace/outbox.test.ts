/** Tests how the outbox sends rows from the ledger to the palace, on an in-memory driver and an in-memory copy of the ledger's list. */
import { expect, test, vi } from "vitest";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { PalaceDriver, PalaceRecord } from "../../../src/memory/port/public-palace.ts";
import { PalaceError } from "../../../src/base/errors.ts";
import { type Outbox, type OutboxOptions, startOutbox } from "../../../src/mempalace/outbox.ts";
import { MemoryDriver } from "../../helpers/memory-driver.ts";
import { type Call, FlakyDriver, MemoryOutboxSource, type Mishap, QuickClock } from "../../helpers/memory-outbox.ts";
import { seededRandom } from "../../helpers/random.ts";

const UNAVAILABLE = new PalaceError("STORE_UNAVAILABLE", "nobody there", "");
const REFUSED = new PalaceError("CONFIG_BAD_VALUE", "too large", "");

function record(id: string, text = `text of ${id}`): PalaceRecord {
  return { id, text, metadata: { wing: "w", room: "r" }, vector: new Float32Array([1, 0]) };
}

function start(
  source: MemoryOutboxSource,
  driver: PalaceDriver,
  options: Partial<OutboxOptions> = {},
): Outbox & AsyncDisposable {
  const outbox = startOutbox({
    source,
    driver,
    log: SILENT_LOG,
    clock: new QuickClock(),
    onState: () => {},
    ...options,
  });
  return { ...outbox, [Symbol.asyncDispose]: () => outbox.stop() };
}

async function reaches(outbox: Outbox, state: string): Promise<void> {
  await vi.waitFor(() => expect(outbox.status().state).toBe(state), { timeout: 10_000, interval: 1 });
}

/** Returns a driver that fails while `when` returns true. */
function flaky(
  inner: PalaceDriver,
  when: (call: Call) => boolean,
  error: Error = UNAVAILABLE,
  how: Mishap = "before",
): FlakyDriver {
  return new FlakyDriver(inner, (call) => (when(call) ? { how, error } : undefined));
}

test("the outbox sends earlier changes and later commits to the palace, and its list is then empty", async () => {
  const [source, driver] = [new MemoryOutboxSource(), new MemoryDriver()];
  source.write(record("a"));
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  expect(driver.read("a")).toEqual(record("a"));
  source.write(record("a", "newer"));
  source.write(record("b"));
  source.delete("b");
  outbox.wake();
  await reaches(outbox, "synced");
  expect(driver.read("a")?.text).toBe("newer");
  expect(driver.read("b")).toBeUndefined();
  expect(outbox.status()).toEqual({ kind: "memory", state: "synced", lag: 0, lagMs: 0, detail: "" });
});

test("the outbox also sends a commit without a wake-up, by its timer", async () => {
  const [source, driver] = [new MemoryOutboxSource(), new MemoryDriver()];
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  source.write(record("a"));
  await vi.waitFor(() => expect(driver.read("a")).toBeDefined());
});

test("the outbox reads new rows at once if it is woken while it waits", async () => {
  const [source, driver, clock] = [new MemoryOutboxSource(), new MemoryDriver(), new QuickClock()];
  const quick = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) =>
    ms < 1_000 ? quick(ms, signal) : new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  await using outbox = start(source, driver, { clock });
  await reaches(outbox, "synced");
  await new Promise((resolve) => setImmediate(resolve));
  source.write(record("a"));
  outbox.wake();
  await reaches(outbox, "synced");
  expect(driver.read("a")).toBeDefined();
});

test("the outbox sends writes and removals in order in batches of one kind", async () => {
  const source = new MemoryOutboxSource();
  const driver = flaky(new MemoryDriver({ recordsMax: 3 }), () => false);
  for (const id of ["a", "b", "c", "d"]) source.write(record(id));
  for (const id of ["x", "y"]) source.delete(id);
  source.write(record("e"));
  await source.retarget("memory");
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  // The removals come first, because `retarget` lists all drawers after them. The fast clock makes the outbox repeat `open`.
  expect(driver.calls[0]).toEqual({ op: "open", ids: [] });
  expect(driver.calls.filter(({ op }) => op !== "open")).toEqual([
    { op: "remove", ids: ["x", "y"] },
    { op: "upsert", ids: ["a", "b", "c"] },
    { op: "upsert", ids: ["d", "e"] },
  ]);
});

test("another public palace gets every drawer again from the outbox", async () => {
  const source = new MemoryOutboxSource();
  const [first, second] = [new MemoryDriver({ target: "one" }), new MemoryDriver({ target: "two" })];
  for (const id of ["a", "b", "c"]) source.write(record(id));
  {
    await using outbox = start(source, first);
    await reaches(outbox, "synced");
  }
  await using outbox = start(source, second);
  await reaches(outbox, "synced");
  expect([await first.open(), await first.count(), await second.count()]).toEqual([undefined, 3, 3]);
});

test("a palace that was replaced before a reconnect gets every drawer again", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver();
  let [life, gone] = [1, false];
  const driver = flaky(inner, ({ op }) => gone && op === "upsert");
  Object.defineProperty(driver, "target", { get: () => `memory#${life}` });
  source.write(record("a"));
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  gone = true;
  await inner.remove(["a"]);
  source.write(record("b"));
  outbox.wake();
  await reaches(outbox, "unreachable");
  [life, gone] = [2, false];
  await reaches(outbox, "synced");
  expect((await inner.ids(0, 9)).sort()).toEqual(["a", "b"]);
});

test("the outbox tries an unreachable palace again at growing intervals up to half a minute", async () => {
  const source = new MemoryOutboxSource();
  const clock = new QuickClock();
  let down = true;
  const driver = flaky(new MemoryDriver(), ({ op }) => down && op === "open");
  source.write(record("a"));
  await using outbox = start(source, driver, { clock });
  // This wake-up came before the failure, so it does not shorten the wait.
  outbox.wake();
  await vi.waitFor(() => expect(driver.calls.length).toBeGreaterThan(8));
  expect(outbox.status()).toMatchObject({ state: "unreachable", detail: "nobody there", lag: 1 });
  // Each wait has two parts: a second that a wake-up cannot shorten, and the rest.
  const waits = clock.sleeps.slice(0, 16).filter((_, i) => i % 2 === 1);
  expect(clock.sleeps.filter((_, i) => i % 2 === 0).slice(0, 7)).toEqual(Array(7).fill(1_000));
  expect(waits.slice(0, 6)).toEqual([500, 2_000, 5_000, 11_000, 21_500, 21_500]);
  down = false;
  await reaches(outbox, "synced");
});

test("a wake-up shortens the outbox's wait after a failure to one second", async () => {
  const source = new MemoryOutboxSource();
  const clock = new QuickClock();
  const driver = flaky(new MemoryDriver(), () => true);
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    outbox.wake();
    return sleep(ms, signal);
  };
  const outbox = start(source, driver, { clock });
  await vi.waitFor(() => expect(driver.calls.length).toBeGreaterThan(6));
  await outbox.stop();
  expect(clock.sleeps.length).toBeGreaterThan(5);
  expect(clock.sleeps.slice(1).filter((ms) => ms < 2_000 && ms !== 1_000)).toEqual([]);
  expect(clock.sleeps.filter((ms) => ms === 1_000).length).toBeGreaterThanOrEqual(5);
});

test("the outbox notices that an idle palace became unreachable", async () => {
  const source = new MemoryOutboxSource();
  let down = false;
  const driver = flaky(new MemoryDriver(), ({ op }) => down && op === "open");
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  down = true;
  await reaches(outbox, "unreachable");
  down = false;
  await reaches(outbox, "synced");
});

test("a refused record does not block other records, and is sent again after a removal made room", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver({ recordsMax: 8 });
  let full = true;
  const driver = flaky(inner, ({ ids }) => full && ids.includes("bad"), REFUSED);
  for (let i = 0; i < 20; i += 1) source.write(record(i === 5 ? "bad" : `good${i}`));
  await using outbox = start(source, driver);
  await reaches(outbox, "waiting");
  expect(await inner.count()).toBe(19);
  expect(outbox.status()).toMatchObject({ lag: 1, detail: "the palace refuses 1 drawers, first bad: too large" });
  const alone = driver.calls.filter(({ ids }) => ids.length === 1 && ids[0] === "bad").length;
  expect(alone).toBe(1);
  source.write(record("good"));
  outbox.wake();
  await vi.waitFor(() => expect(inner.read("good")).toBeDefined());
  full = false;
  source.delete("good0");
  outbox.wake();
  await reaches(outbox, "synced");
  expect(inner.read("bad")).toBeDefined();
});

test("the outbox sends a refused record again after the record changed", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver();
  let bad = true;
  const driver = flaky(inner, ({ ids }) => bad && ids.includes("bad"), REFUSED);
  source.write(record("bad"));
  await using outbox = start(source, driver);
  await reaches(outbox, "waiting");
  bad = false;
  source.write(record("bad", "shorter"));
  outbox.wake();
  await reaches(outbox, "synced");
  expect(inner.read("bad")?.text).toBe("shorter");
});

test("the outbox offers a refused record to the next palace", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver();
  let [target, down] = ["strict", false];
  const driver = flaky(inner, ({ op }) => target === "strict" && op === "upsert", REFUSED);
  vi.spyOn(driver, "open").mockImplementation(() => (down ? Promise.reject(UNAVAILABLE) : inner.open()));
  Object.defineProperty(driver, "target", { get: () => target });
  // The list stays the same, so only the outbox's own record of the refusal matters.
  vi.spyOn(source, "retarget").mockResolvedValue();
  source.write(record("a"));
  await using outbox = start(source, driver);
  await reaches(outbox, "waiting");
  down = true;
  await reaches(outbox, "unreachable");
  [target, down] = ["lenient", false];
  await reaches(outbox, "synced");
  expect(inner.read("a")).toBeDefined();
});

test("the outbox stops asking a palace that refuses everything", async () => {
  const source = new MemoryOutboxSource();
  const driver = flaky(new MemoryDriver(), ({ op }) => op === "upsert", REFUSED);
  for (let i = 0; i < 1_000; i += 1) source.write(record(`d${i}`));
  await using outbox = start(source, driver);
  await reaches(outbox, "unreachable");
  const sent = driver.calls.filter(({ op }) => op === "upsert").length;
  expect(sent).toBeLessThan(700);
  expect(outbox.status()).toMatchObject({ lag: 1_000, detail: "the palace refuses every record: d0: too large" });
});

test("the outbox sends a drawer only after the drawer has a vector", async () => {
  const [source, driver] = [new MemoryOutboxSource(), new MemoryDriver()];
  source.writeWithoutVector("a");
  await using outbox = start(source, driver);
  await vi.waitFor(() => expect(outbox.status().detail).toBe("1 drawer waits for its vector"));
  expect(outbox.status()).toMatchObject({ state: "waiting", lag: 1 });
  source.write(record("a"));
  outbox.wake();
  await reaches(outbox, "synced");
});

test("the outbox sends a drawer again if the drawer changed while it was sent", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver();
  let changed = false;
  const driver = flaky(inner, ({ op }) => {
    if (op === "upsert" && !changed) {
      changed = true;
      source.write(record("a", "newer"));
    }
    return false;
  });
  source.write(record("a"));
  await using outbox = start(source, driver);
  await reaches(outbox, "synced");
  expect(inner.read("a")?.text).toBe("newer");
});

test("the outbox never reads more waiting rows at once than one batch takes", async () => {
  const source = new MemoryOutboxSource();
  for (let i = 0; i < 500; i += 1) source.write(record(`d${i}`));
  const peek = vi.spyOn(source, "peek");
  await using outbox = start(source, new MemoryDriver({ recordsMax: 20 }));
  await reaches(outbox, "synced");
  expect(peek.mock.calls.length).toBeGreaterThanOrEqual(25);
  expect(Math.max(...peek.mock.calls.map(([limit]) => limit))).toBe(20);
});

test("stopping the outbox abandons a batch that hangs, closes the driver and keeps the list", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver();
  const hangs = Promise.withResolvers<undefined>();
  const close = vi.spyOn(inner, "close");
  vi.spyOn(inner, "upsert").mockReturnValue(hangs.promise as unknown as Promise<void>);
  source.write(record("a"));
  const outbox = start(source, inner);
  await vi.waitFor(() => expect(inner.upsert).toHaveBeenCalled());
  await outbox.stop(50);
  expect(close).toHaveBeenCalledOnce();
  hangs.resolve(undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(source.lag().entries).toBe(1);
});

test("stopping the outbox finishes the current batch and starts no other", async () => {
  const source = new MemoryOutboxSource();
  const inner = new MemoryDriver({ recordsMax: 1 });
  for (const id of ["a", "b", "c"]) source.write(record(id));
  const stopped = Promise.withResolvers<void>();
  const driver = flaky(inner, ({ ids }) => {
    if (ids[0] === "b") stopped.resolve(outbox.stop(60_000));
    return false;
  });
  const wall = new QuickClock();
  wall.sleep = (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  const outbox = start(source, driver, { clock: wall });
  await stopped.promise;
  expect(source.peek(9).map(({ id }) => id)).toEqual(["c"]);
  await outbox.stop();
});

test("the outbox reports each change of state once", async () => {
  const [source, seen] = [new MemoryOutboxSource(), [] as string[]];
  let down = true;
  const driver = flaky(new MemoryDriver(), ({ op }) => down && op === "open");
  source.write(record("a"));
  await using outbox = start(source, driver, { onState: ({ state }) => void seen.push(state) });
  await vi.waitFor(() => expect(driver.calls.length).toBeGreaterThan(3));
  down = false;
  await reaches(outbox, "synced");
  expect(seen).toEqual(["unreachable", "syncing", "synced"]);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "the palace equals the ledger after random writes, failures and restarts (seed %i)",
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    const source = new MemoryOutboxSource();
    const palace = new MemoryDriver({ recordsMax: 1 + pick(7) });
    let troubled = true;
    const mishaps: Mishap[] = ["before", "after", "half"];
    const driver = new FlakyDriver(palace, () =>
      troubled && random() < 0.3 ? { how: mishaps[pick(3)] ?? "before", error: UNAVAILABLE } : undefined,
    );
    let outbox = start(source, driver);
    for (let step = 0; step < 400; step += 1) {
      const id = `drawer${pick(30)}`;
      if (random() < 0.7) source.write({ ...record(id, `step ${step}`), metadata: { [`key${pick(4)}`]: step } });
      else source.delete(id);
      if (random() < 0.5) outbox.wake();
      if (random() < 0.4) await new Promise((resolve) => setImmediate(resolve));
      if (random() < 0.05) {
        // Simulates a kill: the test abandons the old outbox, and a new outbox starts with the list as it is.
        const old = outbox.stop(0);
        outbox = start(source, driver);
        await old;
      }
    }
    troubled = false;
    await outbox.stop();
    await using last = start(source, driver);
    await reaches(last, "synced");
    const held = (await palace.ids(0, 1_000)).map((id) => palace.read(id));
    const byId = (a?: PalaceRecord, b?: PalaceRecord): number => ((a?.id ?? "") < (b?.id ?? "") ? -1 : 1);
    expect(held.sort(byId)).toEqual([...source.drawers.values()].sort(byId));
  },
);

test("the outbox does not open or write a palace that another writer has locked", async () => {
  const [source, driver] = [new MemoryOutboxSource(), flaky(new MemoryDriver(), () => false)];
  source.write(record("a"));
  let holder: PalaceError | undefined = new PalaceError("PALACE_LOCKED", "held by PID 7 (mempalace mine)", "");
  await using outbox = start(source, driver, { lockedBy: () => holder });
  await reaches(outbox, "waiting");
  source.write(record("b"));
  outbox.wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(driver.calls).toEqual([]);
  expect(outbox.status()).toMatchObject({ state: "waiting", lag: 2, detail: "held by PID 7 (mempalace mine)" });
  holder = undefined;
  outbox.wake();
  await reaches(outbox, "synced");
  expect(driver.calls.flatMap(({ ids }) => ids).sort()).toEqual(["a", "b"]);
});

test("the outbox sends no further batch after another writer locked the palace", async () => {
  const source = new MemoryOutboxSource();
  for (let index = 0; index < 30; index++) source.write(record(`n${index}`));
  let holder: PalaceError | undefined;
  const driver = flaky(new MemoryDriver({ recordsMax: 10 }), ({ op }) => {
    if (op === "upsert") holder = new PalaceError("PALACE_LOCKED", "held", "");
    return false;
  });
  await using outbox = start(source, driver, { lockedBy: () => holder });
  await reaches(outbox, "waiting");
  expect(driver.calls.filter(({ op }) => op === "upsert")).toHaveLength(1);
  expect(outbox.status()).toMatchObject({ lag: 20, detail: "held" });
});
