/** Tests which signals (hints that an answer worked or failed) are derived from the tools that pi called in a turn. */
import { expect, test } from "vitest";
import type { PiRunMessage } from "../../../src/agents/pi/host.ts";
import { stepsIn } from "../../../src/agents/pi/tool-calls.ts";
import { signalsOf } from "../../../src/agents/signal/signals.ts";

const called = (id: string, command: unknown, name = "bash"): PiRunMessage => ({
  ...{ role: "assistant", stopReason: "toolUse" },
  content: [
    { type: "text", text: "I look." },
    { type: "toolCall", id, name, arguments: { command } },
  ],
});
const ended = (toolCallId: string, text: string, isError: boolean): PiRunMessage => ({
  ...{ role: "toolResult", toolCallId, isError, content: [{ type: "text", text }] },
});
const signals = (...messages: PiRunMessage[]): unknown => signalsOf(stepsIn(messages), []);

test("the exit codes of a run's commands become signals", () => {
  const failed = ended("a", "1 failed\n\nCommand exited with code 1", true);
  expect(signals(called("a", "npm test"), failed)).toEqual(["tests-failed"]);
  expect(signals(called("a", "cd app && npm test"), failed)).toEqual(["tests-failed"]);
  const silent = ended("a", "(no output)\n\nCommand exited with code 1", true);
  expect(signals(called("a", "cd app && npm test"), silent)).toEqual([]);
  expect(signals(called("a", "npm test"), failed, called("b", "npm test"), ended("b", "ok", false))).toEqual([
    "tests-passed",
  ]);
  expect(signals(called("a", "npm run build"), failed)).toEqual(["command-failed"]);
  expect(signals(called("a", "git restore ."), ended("a", "", false))).toEqual(["reverted"]);
  expect(
    signals(called("e", "", "edit"), ended("e", "", false), called("a", "git restore ."), ended("a", "", false)),
  ).toEqual([]);
});

test("an interrupted, refused or timed-out command gives no signal, and neither does output that only resembles an exit code", () => {
  for (const text of [
    "Command aborted",
    "Command timed out after 5 seconds. The shell exited with code 1",
    "refused",
    "Command exited with code 1, it said",
    "Command exited with code ",
    `${"x".repeat(24)}1`,
  ])
    expect(signals(called("a", "npm test"), ended("a", text, true)), text).toEqual([]);
  expect(signals(called("a", "npm test"), ended("a", "Command exited with code 1", false))).toEqual(["tests-passed"]);
  expect(signals(called("a", "npm test"))).toEqual([]);
  expect(signals(called("a", 5), ended("a", "", false), { role: "assistant", content: "words" })).toEqual([]);
});
