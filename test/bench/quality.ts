/**
 * `npm run bench:quality`: retrieval on LoCoMo's development half through the product's own path: sessions are files that
 * mempalace-docs mines, questions go to mempalace_search. Prints the table beside the bars. The data and the model lie
 * beside the checkout (../shared) and are no part of it; without them this says so and fails.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { createTestPalace, realModelDir, ROOT, type TestPalace } from "../helpers/palace.ts";

// onnxruntime's own telemetry, for what is embedded in this process.
process.env["ORT_DISABLE_TELEMETRY"] = "1";

type Turn = { id: string; speaker: string; text: string; caption?: string };
type Session = { id: string; date: string; turns: Turn[] };
type Question = { question: string; category: number; evidence: string[]; evidence_raw?: string[] };
type Conversation = { id: string; sessions: Session[]; questions: Question[] };
type Hit = { text: string; source_file: string; wing: string };

/** Where each turn stands in its session's text. */
type Placed = { text: string; turns: Map<string, [start: number, end: number]> };
type Figures = { recall5: number; recall10: number; hit5: number; hit10: number };

const DATA = join(ROOT, "../shared/bench/locomo-dev.jsonl");
const LIMIT = 100;
const IN_FLIGHT = 4;
/** Source: shared/bench/README.md, the bars for the product. */
const BARS: Readonly<Record<string, Figures>> = {
  lexical: { recall5: 89, recall10: 94.5, hit5: 87.5, hit10: 92 },
  hybrid: { recall5: 90, recall10: 95.5, hit5: 89.5, hit10: 93 },
  "shared palace, hybrid": { recall5: 89, recall10: 94, hit5: 87, hit10: 92 },
};

if (!existsSync(DATA) || realModelDir === undefined) {
  process.stderr.write("left out: ../shared/bench and ../shared/models are not beside this checkout\n");
  process.exit(1);
}
const conversations = readFileSync(DATA, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Conversation);
const withModel = { MEMPALACE_MODEL_DIR: realModelDir };

process.stdout.write(`${"".padEnd(24)} R@5   R@10  turn@5 turn@10\n`);
let isGood = true;
for (const [name, env, isShared] of [
  ["lexical", {}, false],
  ["hybrid", withModel, false],
  ["shared palace, hybrid", withModel, true],
] as const) {
  const groups = isShared ? [conversations] : conversations.map((conversation) => [conversation]);
  const scores: Figures[] = [];
  for (const group of groups) scores.push(...(await measure(group, env)));
  const figures = average(scores);
  const bar = BARS[name] as Figures;
  const holds = (Object.keys(bar) as (keyof Figures)[]).every((key) => figures[key] >= bar[key]);
  isGood &&= holds;
  process.stdout.write(
    `${name.padEnd(24)} ${row(figures)}   ${holds ? "ok" : "MISS"}\n${"  bar".padEnd(24)} ${row(bar)}\n`,
  );
}
process.exit(isGood ? 0 : 1);

/** One palace with all of `group`; a score for each question. */
async function measure(group: readonly Conversation[], env: Readonly<Record<string, string>>): Promise<Figures[]> {
  await using palace = createTestPalace({ built: existsSync(join(ROOT, "dist/bin/mempalace-docs.js")), env });
  await palace.startBroker();
  for (const conversation of group) await mine(palace, conversation);
  const client = await palace.client();
  if (Object.keys(env).length > 0) await embedded(client);
  const scores: Figures[] = [];
  for (const conversation of group) {
    const placed = new Map(conversation.sessions.map((session) => [session.id, place(session)]));
    const queue = [...conversation.questions];
    const ask = async (): Promise<void> => {
      for (let question = queue.shift(); question !== undefined; question = queue.shift()) {
        const { results } = (await client.callTool("mempalace_search", { query: question.question, limit: LIMIT })) as {
          results: Hit[];
        };
        scores.push(score(question, results, conversation.id, placed));
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
  }
  client.close();
  return scores;
}

async function mine(palace: TestPalace, { id, sessions }: Conversation): Promise<void> {
  const folder = join(palace.home, "locomo", id);
  mkdirSync(folder, { recursive: true });
  for (const session of sessions)
    writeFileSync(join(folder, `${session.id}_${isoDate(session.date)}.txt`), place(session).text);
  const { code, stderr } = await palace.run("mempalace-docs", [folder, "--wing", slug(id), "--quiet"]);
  if (code !== 0) throw new Error(stderr);
}

async function embedded(client: Client): Promise<void> {
  for (;;) {
    const { search } = await client.call("palace.status", {});
    if (search.modelState === "ready" && search.pending === 0) return;
    await delay(200);
  }
}

function place({ turns }: Session): Placed {
  const placed: Placed = { text: "", turns: new Map() };
  for (const { id, speaker, text, caption } of turns) {
    const line = `${speaker}: ${text}${caption === undefined ? "" : ` [shared image: ${caption}]`}`;
    placed.turns.set(id, [placed.text.length, placed.text.length + line.length]);
    placed.text += `${line}\n`;
  }
  return placed;
}

function score(
  { evidence, evidence_raw: raw }: Question,
  hits: Hit[],
  conversation: string,
  placed: Map<string, Placed>,
): Figures {
  const sessionOf = (hit: Hit): string => `${hit.wing}/${hit.source_file.split("_")[0]}`;
  const sessions = [...new Set(hits.map(sessionOf))];
  // Labelled sessions come from the source's own strings, as in the benchmark that this is compared with.
  const labelled = new Set(
    (raw ?? evidence).flatMap((id) => /^(D\d+):/.exec(id)?.[1] ?? []).map((id) => `${slug(conversation)}/${id}`),
  );
  const recall = (k: number): number =>
    labelled.size === 0 ? 1 : sessions.slice(0, k).filter((session) => labelled.has(session)).length / labelled.size;
  const turnRank = hits.findIndex((hit) => evidence.some((turn) => holds(hit, turn, conversation, placed)));
  const hit = (k: number): number => (evidence.length === 0 ? Number.NaN : turnRank !== -1 && turnRank < k ? 1 : 0);
  return { recall5: recall(5), recall10: recall(10), hit5: hit(5), hit10: hit(10) };
}

/** Half or more of the turn's characters are in the drawer. */
function holds(hit: Hit, turnId: string, conversation: string, placed: Map<string, Placed>): boolean {
  const session = turnId.split(":")[0] ?? "";
  if (hit.wing !== slug(conversation) || hit.source_file.split("_")[0] !== session) return false;
  const place = placed.get(session);
  const turn = place?.turns.get(turnId);
  if (place === undefined || turn === undefined) return false;
  const start = place.text.indexOf(hit.text);
  const overlap = Math.min(turn[1], start + hit.text.length) - Math.max(turn[0], start);
  return start !== -1 && overlap * 2 >= turn[1] - turn[0];
}

function average(scores: readonly Figures[]): Figures {
  const mean = (key: keyof Figures): number => {
    const values = scores.map((one) => one[key]).filter((value) => !Number.isNaN(value));
    return (100 * values.reduce((sum, value) => sum + value, 0)) / values.length;
  };
  return { recall5: mean("recall5"), recall10: mean("recall10"), hit5: mean("hit5"), hit10: mean("hit10") };
}

function row({ recall5, recall10, hit5, hit10 }: Figures): string {
  return [recall5, recall10, hit5, hit10].map((value) => value.toFixed(1).padEnd(6)).join("");
}

/** `1:56 pm on 8 May, 2023` as 2023-05-08. */
function isoDate(text: string): string {
  const date = new Date(`${text.split(" on ")[1] ?? text} UTC`);
  return date.toISOString().slice(0, 10);
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll("-", "_");
}
