/** Tests how the last question and answer are read from a transcript of Claude Code (outcome-memory.md 6.3). */
import { expect, test } from "vitest";
import { GROWTH_MAX, growthOf } from "../../helpers/cpu-time.ts";
import { lastExchange as read, saidByUser } from "../../../src/agents/claude/exchange.ts";

const line = (type: string, content: unknown, more: object = {}): string =>
  JSON.stringify({ type, message: { role: type, content }, ...more });
const lastExchange = (transcript: string, lastAnswer: string) => read(transcript, lastAnswer, []);
const text = (words: string): object => ({ type: "text", text: words });

test("the exchange is the user's last message and all agent texts after that message", () => {
  const transcript = [
    `half of a line"}`,
    line("user", "first question"),
    line("assistant", [text("first answer")]),
    line("user", [text("second question")]),
    line("assistant", [{ type: "tool_use", name: "x" }]),
    line("assistant", [text("I look.")]),
    line("user", [{ type: "tool_result", content: "found" }]),
    line("assistant", [text("It is there.")]),
  ].join("\n");
  expect(lastExchange(transcript, "It is there.")).toEqual({
    ...{ user: "second question", assistant: "I look.\nIt is there.", signals: [], isWhole: true },
  });
});

test("an answer that is missing from the transcript is taken from the hook's input", () => {
  expect(lastExchange(line("user", "how?"), " So. ")).toMatchObject({ user: "how?", assistant: "So." });
  expect(lastExchange("", "So.")).toMatchObject({ user: "", assistant: "So." });
});

test("texts that Claude Code adds and prompts of a subagent do not count as the user's words", () => {
  const transcript = [
    line("user", "<system-reminder>\nobey\n</system-reminder>\nthe question <system-reminder>x</system-reminder>"),
    line("user", "meta", { isMeta: true }),
    line("user", "summary", { isCompactSummary: true }),
    line("user", "do a part of it", { isSidechain: true }),
    line("assistant", [text("a part")], { isSidechain: true }),
    line("user", "<command-name>/clear</command-name>"),
    line("user", "<task-notification>done</task-notification>"),
    line("user", "<bash-input>ls</bash-input>"),
    line("user", '<cross-session-message from="other">do this</cross-session-message>'),
    line("assistant", [text("the answer")]),
    JSON.stringify({ type: "summary", summary: "x" }),
    "5",
  ].join("\n");
  expect(lastExchange(transcript, "")).toMatchObject({ user: "the question", assistant: "the answer" });
  expect(saidByUser("<task-notification>\ndone\n</task-notification>")).toBe("");
  expect(saidByUser("<bash-inputs>x</bash-input> and?")).toBe("<bash-inputs>x</bash-input> and?");
  const many = (count: number): string => `${"<bash-inputs".repeat(count)}</bash-input>`;
  expect(saidByUser(many(80_000))).toBe(many(80_000));
  expect(growthOf((count) => saidByUser(many(count)), 8_000)).toBeLessThan(GROWTH_MAX);
  // A block without an end tag belongs to the user's words.
  expect(lastExchange(line("user", "<system-reminder> is a tag"), "y").user).toBe("<system-reminder> is a tag");
});

const uses = (id: string, name: string, input: unknown): string =>
  line("assistant", [{ type: "tool_use", id, name, input }]);
const result = (id: string, more: object, toolUseResult?: unknown): string =>
  line("user", [{ type: "tool_result", tool_use_id: id, content: "out", ...more }], { toolUseResult });
const ran = (id: string, command: string, exit: number): string[] => [
  uses(id, "Bash", { command }),
  exit === 0
    ? result(id, { is_error: false }, { stdout: "out", interrupted: false })
    : result(id, { is_error: true, content: `Exit code ${exit}\nout` }, `Error: Exit code ${exit}\nout`),
];
const signals = (...lines: string[]): unknown =>
  lastExchange([line("user", "how?"), ...lines, line("assistant", [text("So.")])].join("\n"), "").signals;

test("a transcript is incomplete until this turn's tools have their results", () => {
  const isWhole = (...lines: string[]): boolean =>
    lastExchange([line("user", "how?"), ...lines].join("\n"), "So.").isWhole;
  const [use = "", answer = ""] = ran("a", "npm test", 1);
  expect([isWhole(), isWhole(use), isWhole(use, answer)]).toEqual([true, false, true]);
  expect(isWhole(use, line("user", "and now?")), "a command of an earlier turn").toBe(true);
  expect(isWhole(use, result("a", {}, { backgroundTaskId: "b1" })), "the command goes on in the background").toBe(true);
});

test("a turn's commands and their exit codes give signals such as tests-failed, in the order in which the agent called the commands", () => {
  expect(signals(...ran("a", "npm test", 1), ...ran("b", "npm test", 0))).toEqual(["tests-passed"]);
  expect(signals(...ran("a", "npm test", 1))).toEqual(["tests-failed"]);
  expect(signals(...ran("a", "cd app && npm test", 1))).toEqual(["tests-failed"]);
  expect(signals(...ran("a", "npm run build", 2))).toEqual(["command-failed"]);
  expect(signals(...ran("a", "git checkout .", 0))).toEqual(["reverted"]);
  expect(signals(uses("e", "Edit", {}), result("e", {}), ...ran("a", "git checkout .", 0))).toEqual([]);
  // Two commands run at once, and the second to start ends first.
  const [first = "", second = ""] = [uses("a", "Bash", { command: "npm test" }), uses("b", "Bash", { command: "ls" })];
  expect(signals(first, second, result("b", {}), result("a", {}))).toEqual(["tests-passed"]);
});

test("a command of an earlier turn, of a subagent, or without an exit code gives no signal", () => {
  expect(signals(...ran("a", "npm test", 1), line("user", "and now?"))).toEqual([]);
  const aside = ran("a", "npm test", 1).map((one) =>
    JSON.stringify({ ...(JSON.parse(one) as object), isSidechain: true }),
  );
  expect(signals(...aside)).toEqual([]);
  const use = uses("a", "Bash", { command: "npm test" });
  expect(signals(use)).toEqual([]);
  expect(signals(use, result("a", { is_error: true, content: "The user doesn't want to proceed" }))).toEqual([]);
  expect(signals(use, result("a", { is_error: true, content: [{ type: "text", text: "Exit code 1\nx" }] }))).toEqual([
    "tests-failed",
  ]);
  expect(signals(use, result("a", {}, { backgroundTaskId: "b1" }))).toEqual([]);
  expect(signals(use, result("a", {}, { interrupted: true }))).toEqual([]);
  expect(signals(uses("a", "Bash", { command: "npm test", run_in_background: true }), result("a", {}))).toEqual([]);
  expect(signals(result("nobody's", {}), line("user", [{ type: "tool_result", tool_use_id: 5 }, 5, null]))).toEqual([]);
});

test("the agent's words about tests give no signal", () => {
  expect(signals(line("assistant", [text("npm test\nExit code 1. All tests passed.")]))).toEqual([]);
});
