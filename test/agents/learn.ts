/** The whole loop of memory that learns from outcomes with a real agent, in any place: shown, answered, judged, promoted. */
import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import type { Place } from "./places.ts";
import { MODEL_OF } from "./real-agents.ts";
import { ANSWER } from "./stub-model.ts";
import type { Talk } from "./talk.ts";

/** A hook that is late shows and asks nothing: on a slow machine another memory is learned. */
const TRIES = 6;

/** `id`: of a memory that has moved from the day's to those that have helped; `topic`: words that no other memory has. */
export type Learned = { id: string; topic: string };

export async function learn(place: Place, talk: Talk, agent: Agent): Promise<Learned> {
  for (let again = 1; ; again += 1) {
    const learned = await learnOne(place, talk, agent, again === TRIES);
    if (learned !== undefined) return learned;
  }
}

/** Undefined where the agent was not told in time, or not asked, unless it must be. */
async function learnOne(place: Place, talk: Talk, agent: Agent, isLast: boolean): Promise<Learned | undefined> {
  const [mark, asked, thanked] = [randomUUID(), randomUUID(), randomUUID()];
  const topic = words();
  const exchangeOf = async (said: string): Promise<string> => (await talk.exchangesOf(said))[0] ?? "";
  const id = await talk.keep(agent, mark, topic);
  const { session, text } = await talk.begin(agent, `${asked}: what of ${topic}?`, id);
  if (!isLast && !text.includes(mark)) return undefined;
  expect(text).toContain("═══ KNOWN CONTEXT ═══");
  expect(text.split(mark)).toHaveLength(2);
  // Nobody waits until the exchange is kept.
  await vi.waitUntil(async () => (await exchangeOf(asked)) !== "", 60_000);

  const scores = JSON.stringify({ outcome: "worked", memory_scores: { [id]: "worked" } });
  const thanks = `${thanked}: thank you, that is it.\n@@tool score_memories ${scores}`;
  expect(await talk.say(agent, thanks, session)).toContain("Scored (outcome=worked");
  const second = await talk.shown(agent);
  if (!isLast && !second.includes("You answered:")) return undefined;
  expect(second).toContain(`You answered: "${ANSWER}`);
  expect(second).toContain(`"${id}": "___"`);
  // It was shown once, and stands there since; opencode stores nothing of it, and when it was started anew may be shown it again.
  const times = second.split(`[id:${id}]`).length - 1;
  expect(times).toBeLessThanOrEqual(1);
  if (agent !== "opencode") expect(times).toBe(1);
  expect(await talk.ask("search_memory", { id })).toContain("1 uses, [Y]");
  expect(await exchangeOf(asked)).toContain("s:0.7, w:0.21, 1 uses, [Y]");

  // Used well in another turn, it is no longer of the day alone: in the same one it would count once.
  await vi.waitUntil(async () => (await exchangeOf(thanked)) !== "", 60_000);
  await talk.ask("score_memories", { outcome: "worked", memory_scores: { [id]: "worked" } });
  expect(await talk.ask("search_memory", { id })).toContain("[history]");
  const asides = ((await place.seen()).asides[MODEL_OF[agent]] ?? []).join("\n");
  expect(asides).not.toMatch(/KNOWN CONTEXT|score_memories|palace-memory/);
  return { id: id.replace("working", "history"), topic };
}

/** Of letters alone. */
function words(): string {
  return randomUUID()
    .replaceAll(/\d/g, (digit) => "ghijklmnop".charAt(Number(digit)))
    .replaceAll("-", " ");
}

/** Asserts that a new session of the agent is shown the memory as one that has helped. */
export async function expectPromoted(talk: Talk, agent: Agent, { id, topic }: Learned): Promise<void> {
  const { text } = await talk.begin(agent, `What of ${topic}?`, id);
  const line = text.split("\n").find((one) => one.includes(`[id:${id}]`));
  expect(line, text).toMatch(/\[id:history_\w+\] \(.*history\)/);
}
