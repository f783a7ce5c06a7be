/** Tests that after a compaction an agent sees its memories again, and is still asked about the last exchange. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Agent, AGENTS } from "../../scripts/agents.ts";
import { type Post, serveOpencode } from "./opencode-server.ts";
import type { Host } from "./places.ts";
import { MODEL_OF } from "./real-agents.ts";
import { type HostTalk, type Talk, talkOnHost, turnOf } from "./talk.ts";

/** Maximum number of sessions to try. After a late hook the model sees no memory, so the test begins another session. */
const SESSIONS_MAX = 5;
const KEPT_MAX_MS = 20_000;
/** pi's compaction keeps the last 20,000 tokens. This text is longer, so pi drops everything before it. */
const MUCH = "so many words ".repeat(8_000);
type Line = { type?: string; command?: string; success?: boolean; error?: string };
type Talker = { say: (prompt: string) => Promise<void>; compact: () => Promise<void> };

let scene: HostTalk;
let host: Host;
let talk: Talk;

beforeAll(async () => {
  scene = await talkOnHost();
  ({ host, talk } = scene);
});
afterAll(() => scene?.[Symbol.asyncDispose]());

const OPEN: Record<Agent, () => Promise<Talker>> = {
  claude: () => {
    const id = randomUUID();
    let isFirst = true;
    const say = async (prompt: string): Promise<void> => {
      await talk.say("claude", prompt, id, isFirst);
      isFirst = false;
    };
    return Promise.resolve({ say, compact: () => say("/compact") });
  },
  opencode: async () => {
    const post: Post = await serveOpencode(host, { MEMPALACE_OUTCOMES: "on" });
    const { id } = await post("/session", {});
    const model = { providerID: "stub", modelID: MODEL_OF.opencode };
    return {
      say: async (text) => void (await post(`/session/${id}/message`, { model, parts: [{ type: "text", text }] })),
      compact: async () => void (await post(`/session/${id}/summarize`, model)),
    };
  },
  pi: () => {
    const { args, env } = turnOf(host, "pi", "", randomUUID(), true);
    const options = args.slice(0, -1).filter((arg) => arg !== "-p");
    const child = host.start("pi", { args: ["--mode", "rpc", ...options], env, isOpen: true });
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    const send = async (command: object, isDone: (line: Line) => boolean): Promise<void> => {
      child.stdin!.write(`${JSON.stringify(command)}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`pi ended with ${child.exitCode}`);
        if (isDone(JSON.parse(value) as object)) return;
      }
    };
    return Promise.resolve({
      say: (message) => send({ type: "prompt", message }, ({ type }) => type === "agent_settled"),
      compact: () =>
        send({ type: "compact" }, ({ type, command, success, error }) => {
          if (type !== "response" || command !== "compact") return false;
          expect(success, error).toBe(true);
          return true;
        }),
    });
  },
};

async function keep(word: string): Promise<{ topic: string; id: string }> {
  const topic = `${word} ${word}${randomUUID().slice(0, 8)}`;
  await talk.ask("record_response", { key_takeaway: topic });
  const found = await talk.ask("search_memory", { query: topic, limit: 1 });
  return { topic, id: /\[id:(\w+)\]/.exec(found)?.[1] ?? expect.fail(found) };
}

async function isKept(mark: string): Promise<boolean> {
  const isThere = async (): Promise<boolean> => (await talk.exchangesOf(mark)).length > 0;
  return vi.waitUntil(isThere, KEPT_MAX_MS).catch(() => false);
}

type Session = {
  /** How often the model sees each of the two memories before the compaction. */
  before: number[];
  after: number[];
  /** User's message about which the agent is asked after the compaction. */
  asked: string;
  /** The user's newest message in each list RECENT EXCHANGES that the model sees. */
  recent: string[];
};

async function compacted(agent: Agent, last: string): Promise<Session | undefined> {
  const [first, second] = [await keep("walnut"), await keep("thimble")];
  const { say, compact } = await OPEN[agent]();
  const shown = async (prompt: string): Promise<number[]> => {
    await say(prompt);
    const text = await talk.shown(agent);
    return [first, second].map(({ id }) => text.split(`[id:${id}]`).length - 1);
  };
  const both = `of ${first.topic} and ${second.topic}`;
  await say(`What of ${first.topic}?`);
  // Both memories must be shown before the last prompt, because a memory shown with that prompt could survive the compaction.
  if ((await shown(`What of ${second.topic}?`)).includes(0)) return undefined;
  const before = await shown(`${last}: what ${both}?${agent === "pi" ? MUCH : ""}`);
  if (!(await isKept(last))) return undefined;
  await compact();
  // opencode does not store the text that the memory adds, so its request for a summary must not contain that text.
  if (agent === "opencode")
    expect(((await host.seen()).asides[MODEL_OF[agent]] ?? []).join("\n")).not.toMatch(/KNOWN CONTEXT|You answered:/);
  await say(`And ${first.topic}?`);
  // Takes the last question, because the context may still have earlier ones.
  const asked = [...(await talk.shown(agent)).matchAll(/The user asked: "([^:"]*)/g)].at(-1)?.[1] ?? "";
  await say(`And ${second.topic}?`);
  const after = await shown(`And ${both}?`);
  const lists = (await talk.shown(agent)).matchAll(/RECENT EXCHANGES \(last \d\):\n1\. \[[\w ]+\] User: ([^:\n]*)/g);
  return { before, after, asked, recent: [...lists].map(([, said = ""]) => said) };
}

test.each(AGENTS)(
  "after a compaction %s sees its memories again and is asked about the last exchange",
  async (agent) => {
    for (let again = 1; ; again += 1) {
      const last = randomUUID();
      const session = await compacted(agent, last);
      const isLate =
        session === undefined || session.asked !== last || [session.before, session.after].flat().includes(0);
      if (isLate && again < SESSIONS_MAX) continue;
      expect(session).toEqual({ before: [1, 1], after: [1, 1], asked: last, recent: [last] });
      return;
    }
  },
);
