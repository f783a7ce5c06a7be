/** Tests in the real agents that memories are shown beside a prompt, and that the user's next message judges them. */
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { AGENTS } from "../../scripts/agents.ts";
import type { Host } from "./places.ts";
import { MODEL_OF } from "./real-agents.ts";
import { ANSWER } from "./stub-model.ts";
import { expectPromoted, learn } from "./learn.ts";
import { type HostTalk, type Talk, talkOnHost, turnOf, WORDS } from "./talk.ts";

const TURNS_MAX = 5;
const TOLD_MAX_MS = 15_000;

let scene: HostTalk;
let host: Host;
let talk: Talk;

beforeAll(async () => {
  scene = await talkOnHost();
  ({ host, talk } = scene);
});
afterAll(() => scene?.[Symbol.asyncDispose]());

async function exchangeOf(mark: string): Promise<string> {
  return (await talk.exchangesOf(mark))[0] ?? "";
}

test.each(AGENTS)(
  "the broker shows %s a memory, stores the answer, and asks for scores of the memory and the answer",
  async (agent) => {
    await expectPromoted(talk, agent, await learn(host, talk, agent));
  },
);

test.each(AGENTS)(
  "failed tests in a turn of %s count with weight 0.5 against the memories shown in that turn",
  async (agent) => {
    // The mark distinguishes this test's memory: memories of other tests have the same words.
    const mark = randomUUID();
    const id = await talk.keep(agent, mark);
    const tool = agent === "claude" ? "Bash" : "bash";
    const command = JSON.stringify({ command: "node --test there-is-no-such.test.js", description: "Runs the tests" });
    const told = async (): Promise<string> => (await host.palace("outcome", "why", id)).stdout;
    const isTold = async (): Promise<boolean> => /failed by tests-failed, weight 0\.5/.test(await told());
    // Our hook waits only briefly for Claude Code to finish its transcript, so a slow machine may need another turn.
    for (let again = 1; again <= TURNS_MAX && !(await isTold()); again += 1) {
      await talk.begin(agent, `Run the tests of ${WORDS[agent]}: ${mark}\n@@tool ${tool} ${command}`, id);
      await vi.waitUntil(isTold, { timeout: TOLD_MAX_MS, interval: 500 }).catch(() => {});
    }
    expect(await told()).toMatch(/failed by tests-failed, weight 0\.5/);
    expect(await told()).toMatch(/uses\s+none/);
  },
);

test.each(AGENTS)("the broker does not ask %s about an interrupted answer", async (agent) => {
  for (let tries = 1; ; tries += 1) {
    const mark = randomUUID();
    const id = await talk.keep(agent, mark);
    const { session } = await talk.begin(agent, `${mark} once`, id);
    await vi.waitUntil(async () => (await exchangeOf(`${mark} once`)) !== "", 60_000);
    const child = host.start(agent, turnOf(host, agent, `${mark} twice\n@@held mempalace_status {}`, session, false));
    await vi.waitUntil(async () => (await host.seen()).held.includes(MODEL_OF[agent]), 120_000);
    const isAsked = (await talk.shown(agent)).includes(`The user says now: "${mark} twice`);
    child.kill("SIGKILL");
    await once(child, "exit");
    await host.go();
    // A hook may be too late to ask about the first answer. The next turn then rightly asks about it, so the test tries again.
    if (!isAsked && tries < TURNS_MAX) continue;
    await talk.say(agent, `${mark} again\n@@tool mempalace_status {}`, session);
    const text = await talk.shown(agent);
    expect(text).toContain(`${mark} again`);
    for (const part of [`The user asked: "${mark} twice`, `The user says now: "${mark} again`])
      expect(text).not.toContain(part);
    return;
  }
});

test.each(AGENTS)("a turn of %s ends normally if the broker does not answer", async (agent) => {
  const broker = await host.broker();
  await broker.signal("SIGSTOP");
  try {
    const { args, input, env } = turnOf(host, agent, "Say hello", randomUUID(), true);
    const { MEMPALACE_TURN_MAX_MS: _, ...usual } = env;
    expect(await host.run(agent, { args, input, env: usual })).toContain(ANSWER);
  } finally {
    await broker.signal("SIGCONT");
  }
});
