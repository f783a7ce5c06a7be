import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { type Client, connectClient } from "../../../src/wire/client/client.ts";
import type { HostSignal, MemoryTold } from "../../../src/protocol/outcome.ts";
import type { Methods } from "../../../src/protocol/spec.ts";
import { agentOf, ask } from "../../helpers/outcome-agent.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const AGENT = "claude-code";
const CONVERSATION = `${AGENT}/1`;
const QUESTION = "why is the deployment flaky?";

async function why(client: Client, id: string): Promise<MemoryTold> {
  const told = await client.call("outcome.why", { id });
  if (told.found) return told;
  return expect.fail(`no memory ${id}`);
}

const saidOf = ({ outcomes }: MemoryTold): unknown[] =>
  outcomes.map(({ outcome, by, weight }) => [outcome, by, weight]);

type Scene = { palace: TestPalace; agent: StdioMcp; client: Client; shown: string };

/** Makes a turn for which one memory was shown and which has no answer yet. */
async function begun(): Promise<Scene & AsyncDisposable> {
  const palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) });
  const agent = await agentOf(palace);
  const client = await connectClient({ config: palace.config, agent: AGENT, start: "auto" });
  await ask(agent, "record_response", { key_takeaway: "The flaky deployment was fixed by a longer timeout" });
  const { context } = await client.call("turn.begin", { conversation: CONVERSATION, prompt: QUESTION });
  const shown = /\[id:(\w+)\]/.exec(context)?.[1] ?? expect.fail(context);
  const close = async (): Promise<void> => {
    client.close();
    await agent[Symbol.asyncDispose]();
    await palace[Symbol.asyncDispose]();
  };
  return { palace, agent, client, shown, [Symbol.asyncDispose]: close };
}

const say = (client: Client, prompt: string) => client.call("turn.begin", { conversation: CONVERSATION, prompt });

async function answer(client: Client, signals?: HostSignal[], user = QUESTION): Promise<string> {
  const said = { conversation: CONVERSATION, user, assistant: "Its timeout is too short." };
  return (
    (await client.call("turn.end", { ...said, ...(signals !== undefined && { signals }) })).id ??
    expect.fail("nothing is kept")
  );
}

test.each([
  ["tests-passed", "worked", 0.5, 0.6],
  ["tests-failed", "failed", 0.5, 0.35],
  ["command-failed", "failed", 0.25, 0.425],
] as const)(
  "%s counts as %s for the answer and the memories shown for it, by its weight",
  async (signal, outcome, weight, score) => {
    await using scene = await begun();
    const { client, palace, shown } = scene;
    const exchange = await answer(client, [signal, signal]);
    for (const id of [shown, exchange]) {
      const told = await why(client, id);
      expect(told).toMatchObject({ score, uses: 0, successes: 0 });
      expect(saidOf(told)).toEqual([[outcome, signal, weight]]);
    }
    const { stdout } = await palace.run("palace", ["outcome", "why", shown]);
    expect(stdout).toContain(`${outcome} by ${signal}, weight ${weight}`);
    // An answer that is sent again after the turn has ended makes no second exchange, and its signals do not count.
    expect(await answer(client, [signal])).toBe(exchange);
    for (const id of [shown, exchange]) expect(saidOf(await why(client, id))).toHaveLength(1);
    const other = await answer(client, [signal], "something else?");
    expect(saidOf(await why(client, shown))).toHaveLength(1);
    expect(saidOf(await why(client, other))).toEqual([]);
  },
);

test("after a signal the agent is still asked for a score; both count, until a person's score replaces them", async () => {
  await using scene = await begun();
  const { client, palace, agent, shown } = scene;
  const exchange = await answer(client, ["tests-passed"]);
  const { scoring } = await say(client, "thanks, and the other service?");
  expect(scoring).toContain(shown);
  await ask(agent, "score_memories", { outcome: "worked", memory_scores: { [shown]: "partial" } });
  expect((await palace.run("palace", ["outcome", "score", shown, "failed"])).code).toBe(0);
  const told = await why(client, shown);
  expect(told).toMatchObject({ score: 0.2, uses: 1, successes: 0 });
  expect(saidOf(told)).toEqual([
    ["worked", "tests-passed", 0.5],
    ["partial", "agent", 1],
    ["failed", "user", 1],
  ]);
  expect(await why(client, exchange)).toMatchObject({ score: 0.8, uses: 1, successes: 1 });
});

test("the signal `reverted` counts for the exchange before it and that exchange's shown memories", async () => {
  await using scene = await begun();
  const { client, shown } = scene;
  const exchange = await answer(client);
  await say(client, "no, take that back");
  const undoing = await answer(client, ["reverted"], "no, take that back");
  for (const id of [shown, exchange]) {
    const told = await why(client, id);
    expect(told).toMatchObject({ score: 0.275, uses: 0 });
    expect(saidOf(told)).toEqual([["failed", "reverted", 0.75]]);
  }
  expect(saidOf(await why(client, undoing))).toEqual([]);
});

test("`reverted` after an interrupted exchange counts for no memory and no earlier exchange", async () => {
  await using scene = await begun();
  const { client, shown } = scene;
  const exchange = await answer(client);
  await say(client, "and the other service?");
  await say(client, "stop, take that back");
  await answer(client, ["reverted"], "stop, take that back");
  for (const id of [shown, exchange]) expect(saidOf(await why(client, id))).toEqual([]);
});

test("asking the same question again counts once as a failure of the first answer", async () => {
  await using scene = await begun();
  const { client, agent, shown } = scene;
  const exchange = await answer(client);
  expect((await say(client, "Why is the   deployment FLAKY")).scoring).toContain(QUESTION);
  await say(client, QUESTION);
  for (const id of [shown, exchange]) {
    const told = await why(client, id);
    expect(told).toMatchObject({ score: 0.35, uses: 0 });
    expect(saidOf(told)).toEqual([["failed", "asked-again", 0.5]]);
  }
  await answer(client);
  await say(client, "why is it slow?");
  await ask(agent, "score_memories", { outcome: "worked", memory_scores: {} });
  expect(saidOf(await why(client, exchange))).toHaveLength(1);
});

test("another question, or a short prompt to continue, does not count as asking again", async () => {
  await using scene = await begun();
  const { client } = scene;
  await answer(client);
  await say(client, "go on");
  const first = await answer(client, undefined, "go on");
  await say(client, "Go on!");
  expect(saidOf(await why(client, first))).toEqual([]);
  const second = await answer(client, undefined, "Go on!");
  await say(client, `${QUESTION} and how long has it been?`);
  expect(saidOf(await why(client, second))).toEqual([]);
});

const INVALID: readonly unknown[] = [
  ["tests-passed", "moon-full"],
  "tests-passed",
  ["asked-again"],
  Array(9).fill("reverted"),
  {},
  null,
  ["tests-passed", "tests-failed"],
  ["tests-failed", "reverted", "tests-passed", "tests-failed"],
];

test("invalid signals are refused and change nothing", async () => {
  await using scene = await begun();
  const { client, shown } = scene;
  for (const given of INVALID) {
    const what = JSON.stringify(given);
    await expect(answer(client, given as HostSignal[]), what).rejects.toMatchObject({
      code: "PROTOCOL_BAD_PARAMS",
      message: expect.stringMatching(/^signals must .*tests-passed/) as string,
    });
    expect(saidOf(await why(client, shown)), what).toEqual([]);
  }
  // The turn is still open and can be ended.
  await answer(client, ["tests-failed"]);
  expect(saidOf(await why(client, shown))).toHaveLength(1);
});

test("the signals of a turn whose beginning the broker missed count for no memory", async () => {
  await using scene = await begun();
  const { client, shown } = scene;
  await answer(client);
  await answer(client, ["tests-failed", "reverted"]);
  const other: Methods["turn.end"]["params"] = { conversation: "x", user: "how?", assistant: "so" };
  const { id } = await client.call("turn.end", { ...other, signals: ["tests-failed"] });
  expect(saidOf(await why(client, shown))).toEqual([]);
  expect(saidOf(await why(client, id ?? ""))).toEqual([]);
});

test("a turn that another agent ends in the conversation stores its exchange, but its signals do not count", async () => {
  await using scene = await begun();
  const { palace, client, shown } = scene;
  const exchange = await answer(client);
  await say(client, "no, take that back");
  const other = await connectClient({ config: palace.config, agent: "someone else", start: "auto" });
  const kept = await answer(other, ["tests-failed", "command-failed", "reverted"], "no, take that back");
  other.close();
  for (const id of [shown, exchange, kept]) expect(saidOf(await why(client, id))).toEqual([]);
  // The conversation still belongs to its first agent.
  await say(client, QUESTION);
  const own = await answer(client, ["tests-passed"]);
  expect(saidOf(await why(client, own))).toEqual([["worked", "tests-passed", 0.5]]);
});

test("signals alone never delete or promote a memory, however many there are", async () => {
  await using scene = await begun();
  const { client, palace, shown } = scene;
  const turn = async (signals: HostSignal[]): Promise<void> => {
    await client.call("turn.begin", { conversation: CONVERSATION, prompt: QUESTION.repeat(2), isFresh: true });
    await answer(client, signals, "another question");
  };
  for (let times = 0; times < 4; times++) await turn(["tests-failed", "command-failed"]);
  expect(await why(client, shown)).toMatchObject({ score: 0.2, uses: 0 });
  // Only some of these turns count, because a memory shown in the turn before is not shown again.
  for (let times = 0; times < 24; times++) await turn(["tests-passed"]);
  const told = await why(client, shown);
  expect(told).toMatchObject({ score: 1, uses: 0, successes: 0, room: "working", moves: [] });
  expect(told.outcomes.length).toBeGreaterThan(10);
  expect((await palace.run("palace", ["outcome", "why", shown])).stdout).toMatch(/^uses\s+none$/m);
});

test("a signal does not move a memory out of `working`, even if the memory has enough uses and score", async () => {
  await using scene = await begun();
  const { client, shown } = scene;
  for (let times = 0; times < 2; times++)
    await client.call("outcome.score", { outcome: "unknown", memory_scores: { [shown]: "partial" } });
  await answer(client, ["tests-passed"]);
  const told = await why(client, shown);
  expect(told).toMatchObject({ uses: 2, room: "working", moves: [] });
  expect(told.score).toBeGreaterThanOrEqual(0.7);
});

test("the end of a turn counts once if it is sent again after a kill", async () => {
  await using scene = await begun();
  const { palace, client, shown } = scene;
  const said = { conversation: CONVERSATION, user: QUESTION, assistant: "So." };
  const end = (): Promise<Methods["turn.end"]["result"]> =>
    client.call("turn.end", { ...said, signals: ["tests-failed"] }, { key: "the end" });
  const first = await end();
  const { pid } = JSON.parse(readFileSync(join(palace.config.paths.home, "broker.json"), "utf8")) as { pid: number };
  process.kill(pid, "SIGKILL");
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  await palace.startBroker({ MEMPALACE_MODEL_DIR: join(palace.home, "model") });
  await using next = await agentOf(palace);
  const again = await connectClient({ config: palace.config, agent: AGENT, start: "auto" });
  const repeated = await again.call("turn.end", { ...said, signals: ["tests-failed"] }, { key: "the end" });
  expect(repeated).toEqual(first);
  expect(saidOf(await why(again, shown))).toEqual([["failed", "tests-failed", 0.5]]);
  expect(await ask(next, "search_memory", { id: shown })).toContain("s:0.3");
  again.close();
});

const AT_WORK = { MEMPALACE_OUTCOMES: "on", MEMPALACE_AGENT_NAME: AGENT };

test.each([
  ["cd app; npm test", "", "tests-failed", 0.5],
  ["just check", "", "command-failed", 0.25],
  ["just check", "./ci, just check", "tests-failed", 0.5],
])(
  "a hook of Claude Code reads %j, with the setting test-commands %j, as %s",
  async (command, setting, signal, weight) => {
    await using scene = await begun();
    const { palace, client, shown } = scene;
    if (setting !== "") {
      expect((await palace.run("palace", ["config", "set", "test-commands", setting])).code).toBe(0);
      expect((await palace.run("palace", ["config", "list"])).stdout).toMatch(/^test-commands\s.*just check/m);
    }
    const line = (type: string, content: unknown): string => JSON.stringify({ type, message: { role: type, content } });
    const transcript = join(palace.home, "t.jsonl");
    writeFileSync(
      transcript,
      [
        line("user", QUESTION),
        line("assistant", [{ type: "tool_use", id: "a", name: "Bash", input: { command } }]),
        line("user", [{ type: "tool_result", tool_use_id: "a", is_error: true, content: "Exit code 1\n3 failed" }]),
        line("assistant", [{ type: "text", text: "All tests passed." }]),
      ].join("\n"),
    );
    const input = { hook_event_name: "Stop", session_id: "1", transcript_path: transcript, cwd: palace.home };
    const { code } = await palace.run("palace", ["hook", "claude-code", "--within", "30000"], {
      ...{ env: AT_WORK, input: JSON.stringify(input) },
    });
    expect(code).toBe(0);
    expect(saidOf(await why(client, shown))).toEqual([["failed", signal, weight]]);
  },
);

test("`palace hook turn-end` sends the known signals of an exchange, and ignores unknown signals", async () => {
  await using scene = await begun();
  const { palace, client, shown } = scene;
  const input = { user: QUESTION, assistant: "So.", cwd: "/", signals: ["command-failed", "moon-full", 5] };
  const { code } = await palace.run("palace", ["hook", "turn-end", "--session", CONVERSATION, "--agent", AGENT], {
    ...{ env: AT_WORK, input: JSON.stringify(input) },
  });
  expect(code).toBe(0);
  expect(saidOf(await why(client, shown))).toEqual([["failed", "command-failed", 0.25]]);
});

test("undo reverts a signal and its effect, and forget leaves no row of the signal", async () => {
  await using scene = await begun();
  const { palace, client, agent, shown } = scene;
  const before = await why(client, shown);
  const at = Date.now();
  const exchange = await answer(client, ["tests-failed"]);
  await say(client, "and now?");
  await ask(agent, "score_memories", { outcome: "worked", memory_scores: { [shown]: "worked" } });
  const after = await why(client, shown);
  expect(saidOf(after)).toHaveLength(2);
  const window = { sinceMs: at, untilMs: Date.now() };
  const person = await connectClient({ config: palace.config, agent: "person", start: "auto" });
  await person.call("memory.undo", { agent: AGENT, ...window });
  expect(await why(client, shown)).toMatchObject({ score: before.score, uses: 0, outcomes: [] });
  expect(await client.call("outcome.why", { id: exchange })).toEqual({ found: false });
  await client.call("memory.undo", { agent: "person", sinceMs: at, untilMs: Date.now() });
  expect(saidOf(await why(client, shown))).toEqual(saidOf(after));
  person.close();

  const rows = (): unknown[] => {
    const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
    const found = ledger.prepare("SELECT count(*) FROM scored WHERE id = ?").pluck().all(shown);
    ledger.close();
    return found;
  };
  expect(rows()).toEqual([2]);
  expect((await palace.run("palace", ["forget", shown, "--yes"])).code).toBe(0);
  expect(rows()).toEqual([0]);
});
