/**
 * Memory that learns from outcomes, in the real pi, opencode and Claude Code against a stub model: what is known stands beside a prompt,
 * the answer is kept, what the user says next judges both, and what was broken off is judged by nobody.
 */
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Agent, AGENTS } from "../../scripts/agents.ts";
import type { StdioMcp } from "../../src/bin/proof/stdio-mcp.ts";
import { type Host, onHost } from "./places.ts";
import { MODEL_OF, type Run, runOf } from "./real-agents.ts";
import { ANSWER } from "./stub-model.ts";

/** A hook that is late says nothing: a slow machine has more than one try. */
const TRIES = 8;
const WORDS: Record<Agent, string> = {
  pi: "marmalade kettles whistle",
  opencode: "glaciers polish granite",
  claude: "violins remember orchards",
};

let host: Host;
let memory: StdioMcp;

beforeAll(async () => {
  host = await onHost();
  memory = await host.shim();
});
afterAll(async () => {
  await memory?.[Symbol.asyncDispose]();
  await host?.[Symbol.asyncDispose]();
});

async function ask(name: string, args: Record<string, unknown>): Promise<string> {
  const result = (await memory.request("tools/call", { name, arguments: args })) as { content: [{ text: string }] };
  return result.content[0].text;
}

/** Begins a session, or goes on with it. */
function turnOf(agent: Agent, prompt: string, session: string, isFirst: boolean): Run {
  const { args, env, input } = runOf(agent, prompt, host.url);
  const options = {
    pi: [isFirst ? "--session-id" : "--session", session],
    claude: [isFirst ? "--session-id" : "--resume", session],
    opencode: isFirst ? [] : ["--continue"],
  }[agent];
  const [first = "", ...rest] = args;
  const all = agent === "pi" ? [...options, ...args] : [first, ...options, ...rest];
  return { args: all, input, env: { ...env, MEMPALACE_OUTCOMES: "on" } };
}

const shown = async (agent: Agent): Promise<string> => ((await host.seen()).texts[MODEL_OF[agent]] ?? []).join("\n");

/** Begins sessions until one is shown the memory. */
async function begin(agent: Agent, prompt: string, id: string): Promise<{ session: string; text: string }> {
  for (let again = 1; ; again += 1) {
    const session = randomUUID();
    expect(await host.run(agent, turnOf(agent, prompt, session, true))).toContain(ANSWER);
    const text = await shown(agent);
    if (text.includes(`[id:${id}]`) || again === TRIES) return { session, text };
  }
}

/** Keeps what an agent is to be shown; resolves to its id. */
async function keep(agent: Agent, mark: string): Promise<string> {
  await ask("record_response", { key_takeaway: `${WORDS[agent]}: ${mark}` });
  const found = await ask("search_memory", { query: WORDS[agent], collections: ["working"], limit: 1 });
  return /\[id:(\w+)\]/.exec(found)?.[1] ?? expect.fail(found);
}

/** What was kept of that mark's exchange. */
async function exchangeOf(mark: string): Promise<string> {
  const all = await ask("search_memory", { query: mark, days_back: 1, limit: 20 });
  return all.split("\n").find((line) => line.includes(`User: `) && line.includes(mark)) ?? "";
}

test.each(AGENTS)(
  "%s is shown what is known, keeps what it answered, and is asked what came of both",
  async (agent) => {
    const mark = randomUUID();
    const asked = randomUUID();
    const thanked = randomUUID();
    const id = await keep(agent, mark);
    const { session, text } = await begin(agent, `${asked}: what of ${WORDS[agent]}?`, id);
    expect(text).toContain("═══ KNOWN CONTEXT ═══");
    expect(text.split(mark)).toHaveLength(2);
    // Nobody waits until the exchange is kept.
    await vi.waitUntil(async () => (await exchangeOf(asked)) !== "", 60_000);

    const scores = JSON.stringify({ outcome: "worked", memory_scores: { [id]: "worked" } });
    const thanks = `${thanked}: thank you, that is it.\n@@tool score_memories ${scores}`;
    expect(await host.run(agent, turnOf(agent, thanks, session, false))).toContain("Scored (outcome=worked");
    const second = await shown(agent);
    expect(second).toContain(`You answered: "${ANSWER}`);
    expect(second).toContain(`"${id}": "___"`);
    // It was shown once, and stands there since; opencode stores nothing of it, and when it was started anew may be shown it again.
    const times = second.split(`[id:${id}]`).length - 1;
    expect(times).toBeLessThanOrEqual(1);
    if (agent !== "opencode") expect(times).toBe(1);
    expect(await ask("search_memory", { id })).toContain("1 uses, [Y]");
    expect(await exchangeOf(asked)).toContain("s:0.7, w:0.21, 1 uses, [Y]");

    // Used well in another turn, it is no longer of the day alone: in the same one it would count once.
    await vi.waitUntil(async () => (await exchangeOf(thanked)) !== "", 60_000);
    await ask("score_memories", { outcome: "worked", memory_scores: { [id]: "worked" } });
    expect(await ask("search_memory", { id })).toContain("[history]");
    expect(((await host.seen()).asides[MODEL_OF[agent]] ?? []).join("\n")).not.toMatch(/KNOWN CONTEXT|score_memories/);
  },
);

test.each(AGENTS)(
  "tests that fail in a turn of %s speak against what was shown for it, without a word of the agent",
  async (agent) => {
    const id = await keep(agent, randomUUID());
    const tool = agent === "claude" ? "Bash" : "bash";
    const command = JSON.stringify({ command: "node --test there-is-no-such.test.js", description: "Runs the tests" });
    const told = async (): Promise<string> => (await host.palace("outcome", "why", id)).stdout;
    await begin(agent, `Run the tests of ${WORDS[agent]}\n@@tool ${tool} ${command}`, id);
    await vi.waitUntil(async () => /failed by tests-failed, weight 0\.5/.test(await told()), 60_000);
    expect(await told()).toMatch(/uses\s+none/);
  },
);

test.each(AGENTS)("an answer of %s that was broken off is judged by nobody", async (agent) => {
  const mark = randomUUID();
  const id = await keep(agent, mark);
  const { session } = await begin(agent, `${mark} once`, id);
  await vi.waitUntil(async () => (await exchangeOf(`${mark} once`)) !== "", 60_000);
  const child = host.start(agent, turnOf(agent, `${mark} twice\n@@held mempalace_status {}`, session, false));
  await vi.waitUntil(async () => (await host.seen()).held.includes(MODEL_OF[agent]), 120_000);
  child.kill("SIGKILL");
  await once(child, "exit");
  await host.go();
  await host.run(agent, turnOf(agent, `${mark} again\n@@tool mempalace_status {}`, session, false));
  const text = await shown(agent);
  expect(text).toContain(`${mark} again`);
  for (const part of [`The user asked: "${mark} twice`, `The user says now: "${mark} again`])
    expect(text).not.toContain(part);
});

test.each(AGENTS)("with a broker that answers nobody, a turn of %s ends as ever", async (agent) => {
  const broker = await host.broker();
  await broker.signal("SIGSTOP");
  try {
    const session = randomUUID();
    expect(await host.run(agent, turnOf(agent, "Say hello", session, true))).toContain(ANSWER);
  } finally {
    await broker.signal("SIGCONT");
  }
});
