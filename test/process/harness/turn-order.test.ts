import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import plugin from "../../../src/agents/opencode/palace.ts";
import extension from "../../../src/agents/pi/palace.ts";
import type { Pi, PiContext, PiEvent } from "../../../src/agents/pi/host.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";

/** Delay of the hook at the end of a turn, ms. */
const LATE_MS = 400;
/** Maximum time that the extension waits for a turn's hook, ms: enough on a slow machine. */
const TURN_MAX_MS = 20_000;

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Makes a palace where the hook at the end of a turn starts `lateMs` late. */
async function palaceWithLateEnds(turnMaxMs: number, lateMs = LATE_MS): Promise<TestPalace> {
  const palace = createTestPalace();
  await palace.startBroker();
  const hook = join(palace.home, "hook.mjs");
  writeFileSync(
    hook,
    `import { spawnSync } from "node:child_process";
     import { appendFileSync } from "node:fs";
     const args = process.argv.slice(2);
     appendFileSync(${JSON.stringify(join(palace.home, "calls"))}, args[0] + "\\n");
     if (args[0] === "turn-end") await new Promise((resolve) => setTimeout(resolve, ${lateMs}));
     spawnSync(process.execPath, [${JSON.stringify(palace.executable("palace"))}, "hook", ...args], { stdio: "inherit" });`,
  );
  const env = {
    ...palace.env,
    MEMPALACE_OUTCOMES: "on",
    MEMPALACE_WAKE_UP: "off",
    MEMPALACE_TURN_MAX_MS: String(turnMaxMs),
    MEMPALACE_HOOK_COMMAND: JSON.stringify([process.execPath, hook]),
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return palace;
}

/** An agent's session. `prompt` sends a prompt and returns the texts that the palace adds to it; `answer` ends the turn. */
type Talk = { prompt: (text: string) => Promise<string>; answer: (text: string) => Promise<void> };

function talkInPi(): Talk {
  const handlers = new Map<string, Parameters<Pi["on"]>[1]>();
  extension({
    on: (event, handler) => void handlers.set(event, handler),
    registerTool: () => {},
    registerCommand: () => {},
    sendUserMessage: () => {},
  });
  const sessionManager = { getSessionId: () => "s-1", getSessionFile: () => undefined, getEntries: () => [] };
  const ctx: PiContext = { cwd: ROOT, hasUI: true, sessionManager };
  const emit = async (event: string, said: PiEvent): Promise<string> =>
    (await handlers.get(event)?.(said, ctx))?.message?.content ?? "";
  return {
    prompt: (prompt) => emit("before_agent_start", { prompt }),
    answer: async (text) =>
      void (await emit("agent_end", { messages: [{ role: "assistant", content: [{ type: "text", text }] }] })),
  };
}

async function talkInOpencode(): Promise<Talk> {
  const hooks = await plugin.server();
  const sessionID = "s-1";
  let count = 0;
  const part = (id: string, text: string) => ({ id: `p-${id}`, type: "text", text, sessionID, messageID: id });
  return {
    prompt: async (text) => {
      const id = `m${(count += 1)}`;
      const parts = [part(id, text)];
      const info = { id, role: "user", sessionID };
      await hooks["chat.message"]?.({ sessionID, messageID: id }, { message: info, parts });
      const output = { messages: [{ info, parts }] };
      await hooks["experimental.chat.messages.transform"]?.({}, output);
      return output.messages[0]?.parts[0]?.text ?? "";
    },
    answer: async (text) => {
      const properties = { sessionID, part: part(`a${count}`, text) };
      await hooks.event?.({ event: { type: "message.part.updated", properties } });
      await hooks.event?.({ event: { type: "session.idle", properties: { sessionID } } });
    },
  };
}

test.each([
  ["pi", talkInPi],
  ["opencode", talkInOpencode],
])("%s: a prompt right after an answer is asked to score that answer", async (_agent, begin) => {
  await using _palace = await palaceWithLateEnds(TURN_MAX_MS);
  const talk = await begin();
  await talk.prompt("which library?");
  await talk.answer("Use zod.");
  expect(await talk.prompt("and for dates?")).toContain('The user asked: "which library?"');
  await talk.answer("Use luxon.");
  expect(await talk.prompt("thanks")).toContain('The user asked: "and for dates?"');
});

test("in pi, a prompt gets no texts and begins no turn while the exchange before it takes too long to store", async () => {
  await using palace = await palaceWithLateEnds(1_000, 3_000);
  const talk = talkInPi();
  await talk.prompt("which library?");
  await talk.answer("Use zod.");
  expect(await talk.prompt("and for dates?")).toBe("");
  const client = await palace.client();
  const stored = async () =>
    (await client.call("outcome.search", { query: "" })).memories.map(({ content }) => content);
  await expect.poll(stored, { timeout: 30_000 }).toEqual([expect.stringContaining("Use zod.")]);
  expect(readFileSync(join(palace.home, "calls"), "utf8")).toBe("turn\nturn-end\n");
  client.close();
});
