import { expect, test } from "vitest";
import { askedMark } from "../../../src/learning/turn/repeated-question.ts";
import { newStanding } from "../../../src/learning/memory/memory.ts";
import { afterSignal, isSignal, SIGNALS } from "../../../src/learning/scoring/signal.ts";
import type { OutcomeSource, Signal } from "../../../src/memory/port/outcome.ts";
import { HOST_SIGNALS } from "../../../src/protocol/outcome.ts";

const DAY_MS = 86_400_000;

test.each([
  ["tests-passed", 0.6],
  ["tests-failed", 0.35],
  ["command-failed", 0.425],
  ["reverted", 0.275],
  ["asked-again", 0.35],
] as const)("%s changes a score of 0.5 to %d, and counts as neither a use nor a success", (signal, score) => {
  const before = { ...newStanding(0.5), uses: 4, successes: 3 };
  expect(afterSignal(before, signal, 5)).toEqual({ ...before, score });
});

test("SIGNALS has each signal that a host can send, and `asked-again`", () => {
  expect(Object.keys(SIGNALS)).toEqual([...HOST_SIGNALS, "asked-again"]);
  const others: OutcomeSource[] = ["agent", "user"];
  for (const one of others) expect(isSignal(one)).toBe(false);
  expect(isSignal("constructor" as Signal)).toBe(false);
});

test("a signal does not lower a score to the level of deletion", () => {
  expect(afterSignal(newStanding(0.25), "reverted", 5).score).toBe(0.2);
  expect(afterSignal(newStanding(0.1), "reverted", 5).score).toBe(0.1);
  expect(afterSignal(newStanding(0.1), "tests-passed", 5).score).toBe(0.2);
  expect(afterSignal(newStanding(0.95), "tests-passed", 5).score).toBe(1);
});

test("a signal counts less after a long time without use", () => {
  const before = { ...newStanding(0.5), uses: 1, lastUsedMs: 0 };
  expect(afterSignal(before, "tests-failed", 30 * DAY_MS)).toEqual({ ...before, score: 0.425 });
});

test.each([
  ["why is the deployment flaky?", "Why  is the deployment\nFLAKY", true],
  ["warum lässt sich das nicht bauen?", "Warum lässt sich das, nicht bauen", true],
  ["为什么部署总是失败呢请帮我看看", "为什么部署总是失败呢？请帮我看看！", true],
  ["why is the deployment flaky?", "why is the deployment slow?", false],
  ["go on", "go on", false],
  ["?!…", "?!…", false],
  ["", "", false],
])("whether %j and %j are the same question: %s", (first, second, isSame) => {
  const mark = askedMark(first);
  expect(mark !== undefined && mark === askedMark(second)).toBe(isSame);
});

test("a long question is compared only by its stored part", () => {
  expect(askedMark("word ".repeat(400_000))).toBe(askedMark("Word ".repeat(300_000)));
});
