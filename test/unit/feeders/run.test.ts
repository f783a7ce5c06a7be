/** Tests the loop with which all miners file: how many sources a miner files at a time, and when it stops. */
import { expect, test } from "vitest";
import { fileEach } from "../../../src/feeders/run.ts";

type Begun = { begun: string[]; told: string[]; report: { interrupted: boolean; filed: number } };

function runOf(signal = new AbortController().signal) {
  const seen: Begun = { begun: [], told: [], report: { interrupted: false, filed: 0 } };
  const watch = {
    notice: () => {},
    progress: (done: number, total: number, name: string) => void seen.told.push(`${done}/${total} ${name}`),
  };
  return { ...seen, watch, signal };
}

const FILES = ["a", "b", "c", "d", "e"];
const nameOf = (name: string): string => name;

test("a miner files a few sources at a time, and its progress names each source", async () => {
  const run = runOf();
  const releases: (() => void)[] = [];
  const file = (name: string): Promise<number> => {
    run.begun.push(name);
    const { promise, resolve } = Promise.withResolvers<number>();
    releases.push(() => resolve(1));
    return promise;
  };
  const done = fileEach(run, FILES, { limit: 0, inFlightMax: 2, nameOf, file });
  expect(run.begun).toEqual(["a", "b"]);
  for (let at = 0; at < FILES.length; at++) {
    await expect.poll(() => releases.length).toBeGreaterThan(at);
    expect(run.begun.length).toBeLessThanOrEqual(at + 2);
    releases[at]?.();
  }
  await done;
  expect(run.told.at(-1)).toMatch(/^5\/5 /);
  expect(run.report.interrupted).toBe(false);
});

test("a miner with a limit files one source at a time until the limit is reached", async () => {
  const run = runOf();
  const file = async (name: string): Promise<number | undefined> => {
    run.begun.push(name);
    // The second source has nothing new.
    if (name === "b") return undefined;
    run.report.filed += 1;
    return await Promise.resolve(1);
  };
  await fileEach(run, FILES, { limit: 2, inFlightMax: 3, nameOf, file });
  expect(run.begun).toEqual(["a", "b", "c"]);
});

test("after an error a miner begins no other source and throws the error", async () => {
  const run = runOf();
  const file = async (name: string): Promise<number> => {
    run.begun.push(name);
    await Promise.resolve();
    if (name === "a") throw new Error("the broker is gone");
    return 1;
  };
  await expect(fileEach(run, FILES, { limit: 0, inFlightMax: 2, nameOf, file })).rejects.toThrow("the broker is gone");
  expect(run.begun).toEqual(["a", "b"]);
});

test("Ctrl-C stops a miner even between sources that need no waiting", async () => {
  const controller = new AbortController();
  const run = runOf(controller.signal);
  const file = (name: string): Promise<number> => {
    run.begun.push(name);
    // Aborts as a signal does: only when the event loop turns.
    setImmediate(() => controller.abort());
    return Promise.resolve(0);
  };
  await fileEach(run, FILES, { limit: 0, inFlightMax: 1, nameOf, file });
  expect(run.begun.length).toBeLessThan(3);
  expect(run.report.interrupted).toBe(true);
});
