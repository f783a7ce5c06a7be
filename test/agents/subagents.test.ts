/** Tests subagents of opencode and Claude Code: the memory shows them no text and stores none of their exchanges. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import type { Host } from "./places.ts";
import { type HostTalk, type Talk, talkOnHost, WORDS } from "./talk.ts";

/** Matches any text that the outcome memory shows. */
const SAYS = /KNOWN CONTEXT|roampal-|You answered:/;

let scene: HostTalk;
let host: Host;
let talk: Talk;

beforeAll(async () => {
  scene = await talkOnHost();
  ({ host, talk } = scene);
});
afterAll(() => scene?.[Symbol.asyncDispose]());

/** Returns the `@@tool` line with which an agent starts a subagent. The subagent runs a test that fails. */
function delegate(agent: Agent, told: string, more: object): string {
  const [tool, bash, kind] = agent === "claude" ? ["Agent", "Bash", "general-purpose"] : ["task", "bash", "general"];
  const tests = JSON.stringify({ command: "node --test there-is-no-such.test.js", description: "Runs the tests" });
  const prompt = `${told}\n@@tool ${bash} ${tests}`;
  return `@@tool ${tool} ${JSON.stringify({ description: "Runs the tests", prompt, subagent_type: kind, ...more })}`;
}

/** Returns the texts of the subagent's requests. The conversation's requests contain `subagent` too, but also `conversation`. */
async function requestsOf(subagent: string, conversation: string): Promise<string[]> {
  const all = (await host.requests(subagent)).map((texts) => texts.join("\n"));
  return all.filter((text) => !text.includes(conversation));
}

test.each([
  { agent: "opencode", how: "in the foreground", more: {} },
  { agent: "claude", how: "in the foreground", more: { run_in_background: false } },
  { agent: "claude", how: "in the background", more: { run_in_background: true } },
] as const)(
  "a turn of a $agent subagent $how does not count as a turn of the conversation",
  async ({ agent, more }) => {
    const [mark, asked, told] = [randomUUID(), randomUUID(), randomUUID()];
    const id = await talk.keep(agent, mark);
    const prompt = `${asked}: have ${WORDS[agent]} of ${mark} counted\n${delegate(agent, `${told}: count ${WORDS[agent]}`, more)}`;
    const { session, sessions } = await talk.begin(agent, prompt, id);
    const own = await requestsOf(told, asked);
    expect(own.length).toBeGreaterThan(1);
    for (const text of own) expect(text).not.toMatch(SAYS);
    // The user has not reacted to the answer yet, so the agent is not asked to score.
    for (const texts of await host.requests(asked)) expect(texts.join("\n")).not.toContain("You answered:");
    await vi.waitUntil(async () => (await talk.exchangesOf(asked)).length > 0, 60_000);

    const thanked = randomUUID();
    const scores = JSON.stringify({ outcome: "worked", memory_scores: { [id]: "worked" } });
    await talk.say(agent, `${thanked}: thank you\n@@tool score_memories ${scores}`, session);
    const text = await talk.shown(agent);
    expect(text).toContain(`The user asked: "${asked}`);
    expect(text).toContain(`"${id}": "___"`);
    const all = await talk.exchangesOf(asked);
    // A session in which the memory was not shown may also have stored an exchange.
    expect(all.length, all.join("\n")).toBeLessThanOrEqual(sessions);
    const kept = all.filter((line) => line.includes("1 uses"));
    expect(kept, all.join("\n")).toEqual([expect.stringContaining("s:0.7, w:0.21, 1 uses")]);
    // The stored answer has the subagent's result and no other text of the subagent.
    const exchange = await talk.ask("search_memory", { id: /\[id:(\w+)\]/.exec(kept[0] ?? "")?.[1] });
    expect(exchange.slice(exchange.indexOf("Assistant:"))).toContain("Could not find 'there-is-no-such.test.js'");
    expect(await talk.exchangesOf(told)).toEqual([]);
    // The subagent's failed tests do not count for the conversation.
    const why = (await host.palace("outcome", "why", id)).stdout;
    expect(why).not.toContain("tests-failed");
    expect(why.match(/shown in /g), why).toHaveLength(1);
  },
);

test("opencode continues a subagent of an earlier process and stores none of its turns as an exchange", async () => {
  const agent = "opencode";
  const [asked, told, more] = [randomUUID(), randomUUID(), randomUUID()];
  const session = randomUUID();
  await talk.say(agent, `${asked}: have it counted\n${delegate(agent, told, {})}`, session, true);
  const task_id = /<task id="(\w+)"/.exec(await talk.shown(agent))?.[1] ?? expect.fail(await talk.shown(agent));
  await talk.keep(agent, randomUUID());
  await talk.say(agent, `Go on\n${delegate(agent, `${more}: ${WORDS[agent]}`, { task_id })}`, session);
  const own = await requestsOf(more, asked);
  expect(own.length).toBeGreaterThan(1);
  for (const text of own) {
    expect(text).toContain(told);
    expect(text).not.toMatch(SAYS);
  }
  await vi.waitUntil(async () => (await talk.exchangesOf("Go on")).length > 0, 60_000);
  expect(await talk.exchangesOf(more)).toEqual([]);
});
