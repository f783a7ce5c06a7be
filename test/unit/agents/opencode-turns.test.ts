/** Tests of the opencode plugin's record of a turn, and of the texts that it adds to the model's messages. */
import { expect, test } from "vitest";
import { type Message, type Part, textOf, Turns } from "../../../src/agents/opencode/turns.ts";

const part = (more: object): { type: string; sessionID: string } => ({ type: "text", sessionID: "s", ...more });

test("a turn ends once and has the user's words and the final text of each answer part", () => {
  const turns = new Turns([]);
  turns.begin("s", "m1", "how?");
  turns.answer(part({ id: "p0", messageID: "m1", text: "how?" }));
  // The session becomes idle before the answer begins.
  expect(turns.end("s")).toBeUndefined();
  turns.answer(part({ id: "p1", messageID: "m2", text: "I lo" }));
  turns.answer(part({ id: "p1", messageID: "m2", text: "I look." }));
  turns.answer(part({ id: "p2", messageID: "m2", text: "hidden", synthetic: true }));
  turns.answer(part({ id: "p3", messageID: "m3", text: "There." }));
  turns.answer(part({ id: "p4", messageID: "m9", sessionID: "other", text: "elsewhere" }));
  expect(turns.end("s")).toEqual({ user: "how?", assistant: "I look.\nThere.", signals: [] });
  expect(turns.end("s")).toBeUndefined();
});

test("an interrupted answer does not end a turn", () => {
  const turns = new Turns([]);
  turns.begin("s", "m1", "how?");
  turns.answer(part({ id: "p1", messageID: "m2", text: "I lo" }));
  turns.broke({ sessionID: "s", role: "assistant", error: { name: "MessageAbortedError" } });
  expect(turns.end("s")).toBeUndefined();
  turns.begin("s", "m3", "again?");
  turns.answer(part({ id: "p2", messageID: "m4", text: "So." }));
  expect(turns.end("s")).toEqual({ user: "again?", assistant: "So.", signals: [] });
});

test("the plugin puts its text before the message in a copy of the host's message", () => {
  const turns = new Turns([]);
  turns.tell("s", "m1", { scoring: "SCORE", context: "KNOWN" });
  const messages: Message[] = [
    { info: { id: "m1", role: "user" }, parts: [part({ text: "hidden", synthetic: true }), part({ text: "how?" })] },
    { info: { id: "m2", role: "assistant" }, parts: [part({ text: "So." })] },
  ];
  const before = structuredClone(messages);
  const [first, second] = turns.shown(messages);
  expect(first?.parts.map(({ text }) => text)).toEqual(["hidden", "SCORE\nKNOWN\n\nhow?"]);
  expect(second).toBe(messages[1]);
  expect(messages).toEqual(before);
  // After the user's next message the plugin no longer adds the question for scores.
  const later = turns.shown([...messages, { info: { id: "m3", role: "user" }, parts: [part({ text: "and?" })] }]);
  expect(textOf(later[0]?.parts ?? [])).toBe("KNOWN\n\nhow?");
});

test("a memory text that is added again after a compaction moves to the newest message; adding an empty text does not count", () => {
  const turns = new Turns([]);
  const told = (): string[] =>
    turns
      .shown(["m1", "m2", "m3"].map((id) => ({ info: { id, role: "user" }, parts: [part({ text: id })] })))
      .map(({ parts }) => textOf(parts));
  expect(turns.lost("s")).toBe("shown");
  turns.tell("s", "m1", { scoring: "", context: "ONE" });
  turns.tell("t", "m2", { scoring: "", context: "OTHER" });
  expect(turns.lost("s")).toBe("nothing");
  turns.compacted("s");
  turns.tell("s", "m3", { scoring: "", context: "" });
  expect(turns.lost("s")).toBe("said");
  expect(told()).toEqual(["ONE\n\nm1", "OTHER\n\nm2", "m3"]);
  turns.tell("s", "m3", { scoring: "", context: "ONE" });
  expect(told()).toEqual(["m1", "OTHER\n\nm2", "ONE\n\nm3"]);
  expect(turns.lost("s")).toBe("nothing");
});

const tool = (id: string, command: string, state: object): Part => ({
  ...{ id, type: "tool", tool: "bash", sessionID: "s", messageID: "m2" },
  state: { input: { command }, ...state },
});
const done = (exit: unknown): object => ({ status: "completed", metadata: { output: "", exit } });

function signals(...parts: Part[]): unknown {
  const turns = new Turns(["just check"]);
  turns.begin("s", "m1", "how?");
  for (const one of parts) turns.answer(one);
  turns.answer(part({ id: "p1", messageID: "m2", text: "So." }));
  return turns.end("s")?.signals;
}

test("exit codes of the commands in a turn become signals", () => {
  const failed = { ...done(1), output: "1 failing" };
  expect(signals(tool("a", "cd app && npm test", failed))).toEqual(["tests-failed"]);
  expect(signals(tool("a", "cd app && npm test", done(1)))).toEqual([]);
  expect(signals(tool("a", "npm test", done(1)), tool("b", "npm test", done(0)))).toEqual(["tests-passed"]);
  expect(signals(tool("a", "npm test", { status: "running" }), tool("a", "npm test", done(1)))).toEqual([
    "tests-failed",
  ]);
  expect(signals(tool("a", "npm run build", done(2)))).toEqual(["command-failed"]);
  expect(signals(tool("a", "just check", done(2)))).toEqual(["tests-failed"]);
  expect(signals(tool("a", "git revert HEAD", done(0)))).toEqual(["reverted"]);
});

test("a running tool, an interrupted tool or a tool of another session gives no signal", () => {
  expect(signals(tool("a", "npm test", { status: "running" }))).toEqual([]);
  expect(signals(tool("a", "npm test", { status: "error", metadata: { interrupted: true } }))).toEqual([]);
  expect(signals(tool("a", "npm test", done(null)))).toEqual([]);
  expect(signals({ ...tool("a", "npm test", done(1)), sessionID: "child" })).toEqual([]);
  expect(signals({ ...tool("a", "npm test", done(1)), tool: "webfetch" })).toEqual([]);
});

test("removed messages give one signal, reverted, at the end of the next turn", () => {
  const turns = new Turns([]);
  const turn = (): unknown => {
    turns.begin("s", "m1", "how?");
    turns.answer(part({ id: "p1", messageID: "m2", text: "So." }));
    return turns.end("s")?.signals;
  };
  turns.removed("s");
  turns.removed("s");
  expect([turn(), turn()]).toEqual([["reverted"], []]);
  turns.removed("s");
  turns.drop("s");
  expect(turn()).toEqual([]);
});
