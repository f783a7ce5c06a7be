import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import type { Env } from "../../../src/config/env.ts";
import type { Methods } from "../../../src/protocol/spec.ts";
import { clientOf } from "../../helpers/outcome-agent.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { Spool } from "../../../src/wire/client/spool.ts";

const AGENT = "claude-code";
const CONVERSATION = `${AGENT}/s-1`;

/** Runs the Stop hook as Claude Code does. */
async function stop(
  palace: TestPalace,
  user: string,
  assistant: string,
  { env = {}, args = [] }: { env?: Env; args?: string[] } = {},
): Promise<void> {
  const transcript = join(palace.home, "t.jsonl");
  writeFileSync(transcript, JSON.stringify({ type: "user", message: { role: "user", content: user } }));
  const input = JSON.stringify({
    ...{ hook_event_name: "Stop", session_id: "s-1", cwd: "/home/ada/fern" },
    ...{ transcript_path: transcript, last_assistant_message: assistant },
  });
  const ended = await palace.run("palace", ["hook", "claude-code", ...args], {
    ...{ input, env: { MEMPALACE_OUTCOMES: "on", ...env } },
  });
  expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
}

/** Runs `turn-end` as pi's extension does, in a process that pi does not wait for. */
function endTurn(palace: TestPalace, user: string, assistant: string, env: Env = {}): ReturnType<TestPalace["run"]> {
  return palace.run("palace", ["hook", "turn-end", "--session", "pi/p-1", "--agent", "pi"], {
    input: JSON.stringify({ user, assistant, cwd: "/home/ada/fern" }),
    env: { MEMPALACE_OUTCOMES: "on", ...env },
  });
}

const waiting = ({ config }: TestPalace): string[] => {
  const { spoolDir } = config.paths;
  return statSync(spoolDir, { throwIfNoEntry: false }) === undefined
    ? []
    : readdirSync(spoolDir).filter((name) => name.endsWith(".turn"));
};

type Kept = { text: string; at: number };

/** Delivers the spool and returns the stored turns, oldest first. */
async function kept(palace: TestPalace, agent = AGENT): Promise<Kept[]> {
  const client = await clientOf(palace, agent);
  const { memories } = await client.call("outcome.search", { query: "" });
  client.close();
  return memories
    .map(({ content, created_at: at }) => ({ text: content, at: Date.parse(String(at)) }))
    .sort((one, other) => one.at - other.at);
}

test("the next broker stores spooled turns once, in order and with their times", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await clientOf(palace);
  await client.call("turn.begin", { conversation: CONVERSATION, prompt: "first?" });
  client.close();
  await palace.run("palace", ["stop"]);
  const startedAtMs = Date.now();
  await stop(palace, "first?", "so");
  await stop(palace, "second?", "so, too");
  await endTurn(palace, "third?", "no");
  const endedAtMs = Date.now();
  const files = waiting(palace).map((name) => join(palace.config.paths.spoolDir, name));
  expect(files).toHaveLength(3);
  const copies = files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await palace.run("palace", ["spool", "list"])).stdout.match(/turn\.end/g)).toHaveLength(3);

  await palace.startBroker();
  const found = await kept(palace, "another");
  expect(found.map(({ text }) => text)).toEqual([
    "User: first?\n\nAssistant: so",
    "User: second?\n\nAssistant: so, too",
    "User: third?\n\nAssistant: no",
  ]);
  for (const { at } of found) expect(at).toBeGreaterThanOrEqual(startedAtMs);
  for (const { at } of found) expect(at).toBeLessThanOrEqual(endedAtMs);
  expect(waiting(palace)).toEqual([]);

  mkdirSync(palace.config.paths.spoolDir, { recursive: true });
  for (const { file, text } of copies) writeFileSync(file, text);
  expect(await kept(palace)).toEqual(found);
  expect(waiting(palace)).toEqual([]);
  const next = await clientOf(palace);
  const { scoring } = await next.call("turn.begin", { conversation: CONVERSATION, prompt: "thanks" });
  expect(scoring).toContain('• The user asked: "second?"\n• You answered: "so, too"');
  // The broker knew this conversation only from a turn's end that was delivered late. The agent that begins the next turn owns it.
  const pi = await clientOf(palace, "pi");
  await pi.call("turn.begin", { conversation: "pi/p-1", prompt: "why?" });
  await pi.call("turn.end", { conversation: "pi/p-1", user: "why?", assistant: "tests", signals: ["tests-failed"] });
  const { memories } = await pi.call("outcome.search", { query: "" });
  expect(memories.find(({ content }) => content.includes("tests"))).toMatchObject({
    score: expect.closeTo(0.35) as number,
  });
  for (const one of [next, pi]) one.close();
});

test("a late turn becomes a memory and does not affect the current turn", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await palace.run("palace", ["stop"]);
  await stop(palace, "late?", "late");
  await palace.startBroker();
  const conversation = CONVERSATION;
  // This client acts like a client on another machine, so it has no spool to deliver.
  const client = await connectClient({ config: palace.config, agent: AGENT, start: "never" });
  await client.call("turn.begin", { conversation, prompt: "new?" });
  await client.call("turn.end", { conversation, user: "new?", assistant: "new" });
  await client.call("turn.begin", { conversation, prompt: "thanks" });
  const state = async (): Promise<[Methods["turn.owed"]["result"]["exchange"], object]> => [
    (await client.call("turn.owed", { conversation })).exchange,
    await client.call("turn.scored", { conversation }),
  ];
  const before = await state();
  expect(before).toMatchObject([{ user: "new?", assistant: "new" }, { isAsked: true }]);
  expect((await kept(palace)).map(({ text }) => text)).toEqual([
    "User: late?\n\nAssistant: late",
    "User: new?\n\nAssistant: new",
  ]);
  expect(await state()).toEqual(before);
  client.close();
});

test("a turn is stored once although its broker is killed or paused before it answers", async () => {
  await using palace = createTestPalace();
  // With this address the hook starts no broker.
  const env = { MEMPALACE_BROKER: `unix:${palace.config.paths.socketPath}` };
  const killed = await palace.startBroker({ MEMPALACE_FAULT: "acknowledge.before-reply" });
  // The time limit is long, so a slow machine still reaches the broker.
  await stop(palace, "killed?", "yes", { env, args: ["--within", "5000"] });
  expect(await exitOf(killed)).toEqual([null, "SIGKILL"]);
  const held = await palace.startBroker();
  held.kill("SIGSTOP");
  await stop(palace, "held?", "yes", { env });
  held.kill("SIGCONT");
  await expect.poll(() => kept(palace)).toHaveLength(2);
  expect((await kept(palace)).map(({ text }) => text)).toEqual([
    "User: killed?\n\nAssistant: yes",
    "User: held?\n\nAssistant: yes",
  ]);
  await expect.poll(() => waiting(palace)).toEqual([]);
});

test("after the broker was killed, a hook that may start a broker stores the turn once", async () => {
  await using palace = createTestPalace();
  const gone = await palace.startBroker();
  gone.kill("SIGKILL");
  await exitOf(gone);
  await stop(palace, "gone?", "yes");
  expect((await kept(palace)).map(({ text }) => text)).toEqual(["User: gone?\n\nAssistant: yes"]);
  expect(waiting(palace)).toEqual([]);
});

test("with outcomes off a turn is not spooled", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await palace.run("palace", ["stop"]);
  await stop(palace, "off?", "yes", { env: { MEMPALACE_OUTCOMES: "off" } });
  expect(waiting(palace)).toEqual([]);
  await stop(palace, "on?", "yes");
  expect(waiting(palace)).toHaveLength(1);
});

test("the hook without a usable spool keeps trying to deliver the turn to the broker", async () => {
  await using palace = createTestPalace();
  const held = await palace.startBroker();
  const { spoolRoot } = palace.config.paths;
  mkdirSync(dirname(spoolRoot), { recursive: true });
  writeFileSync(spoolRoot, "no folder");
  held.kill("SIGSTOP");
  const ended = endTurn(palace, "where?", "here", { MEMPALACE_BROKER: `unix:${palace.config.paths.socketPath}` });
  const log = join(palace.config.paths.stateDir, "hook.log");
  await expect.poll(() => existsSync(log) && readFileSync(log, "utf8")).toContain("cannot wait for a broker");
  held.kill("SIGCONT");
  expect(await ended).toMatchObject({ code: 0 });
  expect((await kept(palace)).map(({ text }) => text)).toEqual(["User: where?\n\nAssistant: here"]);
});

test("a slow broker stores a spooled turn once and leaves the spool empty", async () => {
  await using palace = createTestPalace();
  const held = await palace.startBroker();
  held.kill("SIGSTOP");
  const ended = endTurn(palace, "where?", "here", { MEMPALACE_BROKER: `unix:${palace.config.paths.socketPath}` });
  await expect.poll(() => waiting(palace)).toHaveLength(1);
  held.kill("SIGCONT");
  expect(await ended).toMatchObject({ code: 0 });
  expect(waiting(palace)).toEqual([]);
  expect(await kept(palace)).toHaveLength(1);
});

test("after a turn that began without a broker, the request for scores omits a memory that was shown for an earlier question", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await clientOf(palace);
  await client.callTool("record_response", { key_takeaway: "lanterns hang in the pear tree" });
  const { context } = await client.call("turn.begin", {
    conversation: CONVERSATION,
    prompt: "where do lanterns hang?",
  });
  expect(context).toContain("pear tree");
  client.close();
  await palace.run("palace", ["stop"]);
  await stop(palace, "where do lanterns hang?", "In the tree.");
  await stop(palace, "and who waters the ferns?", "Ada does.");
  await palace.startBroker();
  const next = await clientOf(palace);
  const { scoring } = await next.call("turn.begin", { conversation: CONVERSATION, prompt: "thank you" });
  next.close();
  expect(scoring).toContain("and who waters the ferns?");
  expect(scoring).not.toContain("pear tree");
});

test("forget deletes a refused turn from the spool if its words match, or if the memory of the same turn is forgotten", async () => {
  await using palace = createTestPalace();
  const spool = new Spool(palace.config.paths.spoolDir);
  const setAside = (user: string): void => {
    const params = { conversation: CONVERSATION, user, assistant: "noted" };
    const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "turn.end", params });
    spool.append({ atMs: Date.now(), agent: AGENT, tool: "turn.end", key: user, line });
    expect(spool.refuse(spool.entries()[0]?.name ?? "", "for a test")).toBe(true);
  };
  await palace.startBroker();
  const client = await clientOf(palace);
  const { id } = await client.call("turn.end", { conversation: CONVERSATION, user: "a garden?", assistant: "noted" });
  client.close();
  setAside('the word is "lantern"');
  setAside("a garden?");
  expect(await palace.run("palace", ["forget", "--match", 'word is "lantern"', "--yes"])).toMatchObject({ code: 0 });
  expect(spool.refused()).toHaveLength(1);
  expect(await palace.run("palace", ["forget", String(id), "--yes"])).toMatchObject({ code: 0 });
  expect(spool.refused()).toEqual([]);
});
