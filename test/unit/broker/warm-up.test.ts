/** After its start an idle broker runs some searches itself, so that the first real search is fast. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startWarmUp, type WarmUpOptions } from "../../../src/broker/palace/warm-up.ts";
import { createLog } from "../../../src/base/log.ts";

const TEXT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
const LONG_MS = 300_000;

let asked: string[];
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

const start = (options: Partial<WarmUpOptions> = {}): void => {
  end = startWarmUp({
    search: (query) => Promise.resolve(asked.push(query)),
    texts: () => [TEXT, "a few words"],
    isBusy: () => false,
    log: createLog(() => {}, "error"),
    ...options,
  });
};

test("the warm-up stops after a few dozen searches for words of the palace", async () => {
  start();
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked.length).toBeGreaterThan(40);
  expect(asked.length).toBeLessThan(100);
  expect(asked.every((query) => query !== "" && (TEXT.includes(query) || "a few words".includes(query)))).toBe(true);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked.length).toBeLessThan(100);
});

test("the warm-up makes one search for each text, with words of the text's second half", async () => {
  const texts = Array.from({ length: 60 }, (_, at) => `${"heading ".repeat(30)}${`w${at} `.repeat(30)}`.trim());
  start({ texts: () => texts });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked.toSorted()).toEqual(texts.map((_, at) => `w${at} `.repeat(9).trim()).toSorted());
});

test("the warm-up waits while the broker is busy, and gives up if the broker stays busy", async () => {
  let isBusy = true;
  start({ isBusy: () => isBusy });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toEqual([]);
  isBusy = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).not.toEqual([]);
  end();

  asked = [];
  isBusy = true;
  start({ isBusy: () => isBusy });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  isBusy = false;
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked).toEqual([]);
});

test("the warm-up skips an empty palace and stops after a failed search", async () => {
  start({ texts: () => [] });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked).toEqual([]);
  let failures = 0;
  start({ search: () => Promise.reject(new Error(`no ${++failures}`)) });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(failures).toBe(1);
});

test("the warm-up does not search after it was ended", async () => {
  start();
  await vi.advanceTimersByTimeAsync(2_000);
  const before = asked.length;
  expect(before).toBeGreaterThan(0);
  end();
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(asked.length).toBe(before);
});
