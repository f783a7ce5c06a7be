/** Holds a conversation with a real agent, calls the memory's tools, and reads the text that its model sees and the stored exchanges. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { type Host, onHost, type Place } from "./places.ts";
import { MODEL_OF, type Run, runOf } from "./real-agents.ts";
import { ANSWER } from "./stub-model.ts";

/** Maximum number of sessions to try. A turn shows only four memories, and exchanges of failed sessions may be among them. */
const TRIES = 3;
const PAUSE_MS = 3_000;
export const WORDS: Record<Agent, string> = {
  pi: "marmalade kettles whistle",
  opencode: "glaciers polish granite",
  claude: "violins remember orchards",
};

/** Returns the arguments, input and environment with which an agent begins or continues a session. */
export function turnOf(
  place: Pick<Place, "url">,
  agent: Agent,
  prompt: string,
  session: string,
  isFirst: boolean,
): Run {
  const { args, env, input } = runOf(agent, prompt, place.url);
  const options = {
    pi: [isFirst ? "--session-id" : "--session", session],
    claude: [isFirst ? "--session-id" : "--resume", session],
    opencode: isFirst ? [] : ["--continue"],
  }[agent];
  const [first = "", ...rest] = args;
  const all = agent === "pi" ? [...options, ...args] : [first, ...options, ...rest];
  return { args: all, input, env: { ...env, MEMPALACE_OUTCOMES: "on" } };
}

export type Talk = {
  ask: (name: string, args: Record<string, unknown>) => Promise<string>;
  /** Resolves to the output that the agent's user sees. */
  say: (agent: Agent, prompt: string, session: string, isFirst?: boolean) => Promise<string>;
  /** Returns the texts of the model's last request. */
  shown: (agent: Agent) => Promise<string>;
  /** Begins at most `tries` sessions, until one shows the memory `id`. */
  begin: (agent: Agent, prompt: string, id: string, tries?: number) => Promise<Begun>;
  /** Stores a memory for an agent. Resolves to its id. */
  keep: (agent: Agent, mark: string, topic?: string) => Promise<string>;
  /** Returns the stored exchanges with that mark, one line each. */
  exchangesOf: (mark: string) => Promise<string[]>;
};

/** Session that was shown the memory, the text that its model saw, and the number of begun sessions. */
type Begun = { session: string; text: string; sessions: number };

export function talkIn(place: Place, memory: StdioMcp): Talk {
  const ask: Talk["ask"] = async (name, args) => {
    const result = (await memory.request("tools/call", { name, arguments: args })) as { content: [{ text: string }] };
    return result.content[0].text;
  };
  const say: Talk["say"] = (agent, prompt, session, isFirst = false) =>
    place.run(agent, turnOf(place, agent, prompt, session, isFirst));
  const shown: Talk["shown"] = async (agent) => ((await place.seen()).texts[MODEL_OF[agent]] ?? []).join("\n");
  return {
    ask,
    say,
    shown,
    begin: async (agent, prompt, id, tries = TRIES) => {
      for (let again = 1; ; again += 1) {
        const session = randomUUID();
        expect(await say(agent, prompt, session, true)).toContain(ANSWER);
        const text = await shown(agent);
        if (text.includes(`[id:${id}]`) || again === tries) return { session, text, sessions: again };
        // Waits, because another test that builds an image can delay hooks for a while.
        await delay(again * PAUSE_MS);
      }
    },
    keep: async (agent, mark, topic = WORDS[agent]) => {
      const text = `${topic}: ${mark}`;
      await ask("record_response", { key_takeaway: text });
      const found = await ask("search_memory", { query: text, collections: ["working"], limit: 5 });
      // Looks for the mark in every line, because another memory may rank first while this one has no vector yet.
      const line = found.split("\n").find((one) => one.includes(mark) && one.includes("[id:")) ?? found;
      return /\[id:(\w+)\]/.exec(line)?.[1] ?? expect.fail(found);
    },
    exchangesOf: async (mark) => {
      const all = await ask("search_memory", { query: mark, days_back: 1, limit: 20 });
      return all.split("\n").filter((line) => line.includes("User: ") && line.includes(mark));
    },
  };
}

export type HostTalk = AsyncDisposable & { host: Host; talk: Talk };

export async function talkOnHost(): Promise<HostTalk> {
  const host = await onHost();
  const memory = await host.shim();
  const close = async (): Promise<void> => {
    await memory[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
  };
  return { host, talk: talkIn(host, memory), [Symbol.asyncDispose]: close };
}
