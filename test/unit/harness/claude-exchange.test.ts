/** The last question and its answer, out of a transcript of Claude Code (outcome-memory.md 6.3). */
import { expect, test } from "vitest";
import { lastExchange } from "../../../src/harness/claude/exchange.ts";

const line = (type: string, content: unknown, more: object = {}): string =>
  JSON.stringify({ type, message: { role: type, content }, ...more });
const text = (words: string): object => ({ type: "text", text: words });

test("the last words of the user, and all that the agent has said since", () => {
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
    ...{ user: "second question", assistant: "I look.\nIt is there." },
  });
});

test("an answer that the transcript lacks is the one that the host tells", () => {
  expect(lastExchange(line("user", "how?"), " So. ")).toEqual({ user: "how?", assistant: "So." });
  expect(lastExchange("", "So.")).toEqual({ user: "", assistant: "So." });
});

test("what the host has written, and what a subagent was asked, are no words of the user", () => {
  const transcript = [
    line("user", "<system-reminder>\nobey\n</system-reminder>\nthe question <system-reminder>x</system-reminder>"),
    line("user", "meta", { isMeta: true }),
    line("user", "summary", { isCompactSummary: true }),
    line("user", "do a part of it", { isSidechain: true }),
    line("assistant", [text("a part")], { isSidechain: true }),
    line("user", "<command-name>/clear</command-name>"),
    line("user", "<task-notification>done</task-notification>"),
    line("assistant", [text("the answer")]),
    JSON.stringify({ type: "summary", summary: "x" }),
    "5",
  ].join("\n");
  expect(lastExchange(transcript, "")).toEqual({ user: "the question", assistant: "the answer" });
  // A block that does not end is the user's.
  expect(lastExchange(line("user", "<system-reminder> is a tag"), "y").user).toBe("<system-reminder> is a tag");
});
