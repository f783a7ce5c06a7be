/** Teaches a real agent one memory: the agent is shown the memory, its answer is judged, and the memory is promoted. */
import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import type { Place } from "./places.ts";
import { MODEL_OF } from "./real-agents.ts";
import { ANSWER } from "./stub-model.ts";
import type { Talk } from "./talk.ts";

/** Maximum number of memories to try. After a late hook the agent is neither shown the memory nor asked, so the test takes another one. */
const TRIES = 6;

/** Memory that was promoted from `working` to `history`. `id`: its id after the promotion. `topic`: words that no other memory has. */
export type Learned = { id: string; topic: string };

export async function learn(place: Place, talk: Talk, agent: Agent): Promise<Learned> {
  for (let again = 1; ; again += 1) {
    const learned = await learnOne(place, talk, agent, again === TRIES);
    if (learned !== undefined) return learned;
  }
}

/** Returns undefined if a hook was late: the agent was not shown the memory, or not asked. The last try then fails. */
async function learnOne(place: Place, talk: Talk, agent: Agent, isLast: boolean): Promise<Learned | undefined> {
  const [mark, asked, thanked] = [randomUUID(), randomUUID(), randomUUID()];
  const topic = words();
  const exchangeOf = async (said: string): Promise<string> => (await talk.exchangesOf(said))[0] ?? "";
  const id = await talk.keep(agent, mark, topic);
  const { session, text } = await talk.begin(agent, `${asked}: what of ${topic}?`, id);
  if (!isLast && !text.includes(mark)) return undefined;
  expect(text).toContain("═══ KNOWN CONTEXT ═══");
  expect(text.split(mark)).toHaveLength(2);
  // Waits, because the exchange is stored in the background.
  await vi.waitUntil(async () => (await exchangeOf(asked)) !== "", 60_000);

  const scores = JSON.stringify({ outcome: "worked", memory_scores: { [id]: "worked" } });
  const thanks = `${thanked}: thank you, that is it.\n@@tool score_memories ${scores}`;
  expect(await talk.say(agent, thanks, session)).toContain("Scored (outcome=worked");
  const second = await talk.shown(agent);
  if (!isLast && !second.includes("You answered:")) return undefined;
  expect(second).toContain(`You answered: "${ANSWER}`);
  expect(second).toContain(`"${id}": "___"`);
  // At most one line of the context has the memory, so the memory was not shown again. opencode does not store shown memories.
  const times = second.split(`[id:${id}]`).length - 1;
  expect(times).toBeLessThanOrEqual(1);
  if (agent !== "opencode") expect(times).toBe(1);
  expect(await talk.ask("search_memory", { id })).toContain("1 uses, [Y]");
  expect(await exchangeOf(asked)).toContain("s:0.7, w:0.21, 1 uses, [Y]");

  // A second success promotes the memory. It needs another turn, because a memory counts only once per turn.
  await vi.waitUntil(async () => (await exchangeOf(thanked)) !== "", 60_000);
  await talk.ask("score_memories", { outcome: "worked", memory_scores: { [id]: "worked" } });
  expect(await talk.ask("search_memory", { id })).toContain("[history]");
  const asides = ((await place.seen()).asides[MODEL_OF[agent]] ?? []).join("\n");
  expect(asides).not.toMatch(/KNOWN CONTEXT|score_memories|palace-memory/);
  return { id: id.replace("working", "history"), topic };
}

/** Returns new random words without digits. */
function words(): string {
  return randomUUID()
    .replaceAll(/\d/g, (digit) => "ghijklmnop".charAt(Number(digit)))
    .replaceAll("-", " ");
}

/** Asserts that a new session shows the agent the memory from `history`. */
export async function expectPromoted(talk: Talk, agent: Agent, { id, topic }: Learned): Promise<void> {
  const { text } = await talk.begin(agent, `What of ${topic}?`, id);
  const line = text.split("\n").find((one) => one.includes(`[id:${id}]`));
  expect(line, text).toMatch(/\[id:history_\w+\] \(.*history\)/);
}
