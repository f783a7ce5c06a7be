/** Measures whether learning hurts if each question is asked only once or twice, with LoCoMo's conversations as memories. */
import type { Client } from "../../src/wire/client/client.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { type Conversation, readConversations } from "./locomo.ts";
import { allEmbedded } from "./settled.ts";

const SHOWN = 4;
const PASSES = 2;
/** Number of LoCoMo's category `adversarial`: questions that the conversation does not answer. */
const ADVERSARIAL = 5;
const RECORDED = "Key takeaway: ";

type Hits = { asked: number; hit: number; evidence: number; found: number };

/** Prints hits@4 of each pass, with and without scores. Returns false if the conversations are not beside the checkout. */
export async function benchTalks(modelDir: string, print: (line: string) => void): Promise<boolean> {
  const talks = readConversations();
  if (talks === undefined) return false;
  print(
    `\nLoCoMo, ${talks.length} talks, ${SHOWN} memories a question: questions with evidence among them / evidence found`,
  );
  for (const isScored of [false, true]) {
    const passes = Array.from({ length: PASSES }, (): Hits => ({ asked: 0, hit: 0, evidence: 0, found: 0 }));
    for (const talk of talks) await play(talk, modelDir, isScored, passes);
    const figures = passes.map(
      ({ asked, hit, evidence, found }) => `${percent(hit, asked)} / ${percent(found, evidence)}`,
    );
    print(`${isScored ? "ours" : "ours, nothing scored"}`.padEnd(34) + figures.map((one) => one.padStart(18)).join(""));
  }
  return true;
}

async function play(talk: Conversation, modelDir: string, isScored: boolean, passes: readonly Hits[]): Promise<void> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker({ MEMPALACE_MODEL_DIR: modelDir });
  const client = await palace.client();
  const turns = talk.sessions.flatMap(({ turns }) => turns);
  const turnOf = new Map<string, string>();
  for (const { id, speaker, text } of turns) {
    const takeaway = `${speaker}: ${text}`.replaceAll(/\s+/g, " ").trim();
    await sentence(client, "record_response", { key_takeaway: takeaway });
    turnOf.set(takeaway, id);
  }
  await allEmbedded(client);
  for (const hits of passes)
    for (const { question, category, evidence } of talk.questions) {
      if (category === ADVERSARIAL || evidence.length === 0) continue;
      const shown = await search(client, question);
      const good = shown.filter(({ text }) => evidence.includes(turnOf.get(text) ?? ""));
      hits.asked += 1;
      hits.hit += good.length > 0 ? 1 : 0;
      hits.evidence += evidence.length;
      hits.found += good.length;
      if (!isScored || good.length === 0) continue;
      const scores = Object.fromEntries(good.map(({ id }) => [id, "worked"]));
      await sentence(client, "score_memories", { outcome: "worked", memory_scores: scores });
    }
  client.close();
}

async function search(client: Client, query: string): Promise<{ id: string; text: string }[]> {
  const answer = await sentence(client, "search_memory", {
    query,
    limit: SHOWN,
    collections: ["working", "history", "patterns"],
  });
  return [...answer.matchAll(/\[id:(\w+)\] (.*)/g)].map(([, id = "", text = ""]) => ({
    id,
    text: text.startsWith(RECORDED) ? text.slice(RECORDED.length) : text,
  }));
}

/** Calls a tool of the outcome memory and returns its text. */
export async function sentence(client: Client, name: string, args: object): Promise<string> {
  return ((await client.callTool(name, args as never)) as { text: string }).text;
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`;
}
