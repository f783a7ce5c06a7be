/** The broker gives memory back when heavy work is over, and never beside that work. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startMemoryRelease } from "../../../src/broker/palace/memory.ts";
import { createLog } from "../../../src/platform/log.ts";

const MINUTE_MS = 60_000;
const STEP_MS = 1_000;

let releases: number;
let cpuMs: number;
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  releases = 0;
  cpuMs = 0;
  end = startMemoryRelease({
    release: () => Promise.resolve(void (releases += 1)),
    cpuMs: () => cpuMs,
    log: createLog(() => {}, "error"),
  });
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

/** Lets time pass in which the process uses this part of one processor. */
async function pass(ms: number, part: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    cpuMs += STEP_MS * part;
    await vi.advanceTimersByTimeAsync(STEP_MS);
  }
}

test("memory is given back once after heavy work, and again after the next", async () => {
  await pass(MINUTE_MS, 1);
  expect(releases).toBe(0);
  await pass(10 * MINUTE_MS, 0.001);
  expect(releases).toBe(1);
  await pass(MINUTE_MS, 1);
  expect(releases).toBe(1);
  await pass(10 * MINUTE_MS, 0.001);
  expect(releases).toBe(2);
});

test("an agent's usual work gives nothing back: the next search finds its pages in memory", async () => {
  for (let turn = 0; turn < 8; turn++) {
    await pass(STEP_MS, 1);
    await pass(MINUTE_MS, 0.001);
  }
  expect(releases).toBe(0);
});

test("an ended palace gives nothing back", async () => {
  await pass(MINUTE_MS, 1);
  end();
  await pass(MINUTE_MS, 0);
  expect(releases).toBe(0);
});
