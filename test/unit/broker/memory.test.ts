/** The broker returns memory to the system after heavy work, never during it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startMemoryRelease } from "../../../src/broker/palace/heap.ts";
import { createLog } from "../../../src/base/log.ts";

const MINUTE_MS = 60_000;
const STEP_MS = 1_000;
const MIB = 1024 ** 2;

let releases: number;
let cpuMs: number;
let residentBytes: number;
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  releases = 0;
  cpuMs = 0;
  residentBytes = 100 * MIB;
  end = startMemoryRelease({
    release: () => Promise.resolve(void (releases += 1)),
    cpuMs: () => cpuMs,
    residentBytes: () => residentBytes,
    log: createLog(() => {}, "error"),
  });
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

/** Lets time pass. `part`: share of one processor that the process uses meanwhile. */
async function pass(ms: number, part: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    cpuMs += STEP_MS * part;
    await vi.advanceTimersByTimeAsync(STEP_MS);
  }
}

test("after each heavy job the broker returns free heap memory to the system once", async () => {
  await pass(MINUTE_MS, 1);
  expect(releases).toBe(0);
  await pass(10 * MINUTE_MS, 0.001);
  expect(releases).toBe(1);
  await pass(MINUTE_MS, 1);
  expect(releases).toBe(1);
  await pass(10 * MINUTE_MS, 0.001);
  expect(releases).toBe(2);
});

test("the broker returns no heap memory to the system after an agent's usual work", async () => {
  for (let turn = 0; turn < 8; turn++) {
    await pass(STEP_MS, 1);
    await pass(MINUTE_MS, 0.001);
  }
  expect(releases).toBe(0);
});

test("after light work the broker returns heap memory that has grown by 96 MiB", async () => {
  await pass(MINUTE_MS, 0.001);
  residentBytes = 195 * MIB;
  await pass(MINUTE_MS, 0.001);
  expect(releases).toBe(0);
  residentBytes = 196 * MIB;
  await pass(STEP_MS * 4, 1);
  expect(releases).toBe(0);
  // The memory stays in use, so the release frees no bytes.
  await pass(MINUTE_MS, 0.001);
  expect(releases).toBe(1);
  residentBytes = 292 * MIB;
  await pass(MINUTE_MS, 0.001);
  expect(releases).toBe(2);
});

test("after its close the broker returns no heap memory", async () => {
  await pass(MINUTE_MS, 1);
  end();
  await pass(MINUTE_MS, 0);
  expect(releases).toBe(0);
});
