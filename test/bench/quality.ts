/**
 * `npm run bench:quality` measures retrieval on LoCoMo's development half. It takes the product's own path:
 * mempalace-docs mines the sessions as files, and the questions go to mempalace_search. Prints the results by category
 * beside the bars, with plain BM25 and upstream's modes on the same drawers and vectors, and the effect of the rule for
 * weak matches. Data and model are beside the checkout (../shared) and not part of it; without them, it says so and
 * fails.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Client } from "../../src/wire/client/client.ts";
import { openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import type { Embedder } from "../../src/memory/port/search.ts";
import { createTestPalace, realModelDir, ROOT, type TestPalace } from "../helpers/palace.ts";
import {
  average,
  CATEGORIES,
  type Conversation,
  type Figures,
  isoDate,
  place,
  placeAll,
  readConversations,
  type Score,
  type ScoredHit,
  scoreHits,
  slug,
} from "./locomo.ts";
import { type RankedDrawer, UPSTREAM_RANKINGS } from "./upstream-ranking.ts";

// Turns off onnxruntime's own telemetry for what is embedded in this process.
process.env["ORT_DISABLE_TELEMETRY"] = "1";

type Answer = { results: ScoredHit[]; weak_match?: true; nothing_found?: true };
type Measured = {
  scores: Score[];
  /**
   * For each question, true if the answer was called weak or empty. `own` are questions about this palace, `foreign`
   * are questions about another one.
   */
  refused: { own: boolean[]; foreign: boolean[] };
  /** Scores of the rankings that ours is compared with, on the same drawers, by name. */
  others: Record<string, Score[]>;
};

const LIMIT = 100;
const IN_FLIGHT = 4;
/** Asks every fourth of the questions about another conversation. */
const FOREIGN_STEP = 4;
/** The bars for the product, from docs/lab/search-recipe.md. */
const BARS: Readonly<Record<string, Figures>> = {
  lexical: { recall5: 89, recall10: 94.5, hit5: 87.5, hit10: 92 },
  hybrid: { recall5: 90, recall10: 95.5, hit5: 89.5, hit10: 93 },
  "shared palace, hybrid": { recall5: 89, recall10: 94, hit5: 87, hit10: 92 },
};
const NAME_WIDTH = 30;

const conversations = readConversations() ?? [];
if (conversations.length === 0 || realModelDir === undefined) {
  process.stderr.write("left out: ../shared/bench and ../shared/models are not beside this checkout\n");
  process.exit(1);
}
const withModel = { MEMPALACE_MODEL_DIR: realModelDir };

print(`${"".padEnd(NAME_WIDTH)} R@5   R@10  turn@5 turn@10`);
let isGood = true;
for (const [name, env, isShared] of [
  ["lexical", {}, false],
  ["hybrid", withModel, false],
  ["shared palace, hybrid", withModel, true],
] as const) {
  const groups = isShared ? [conversations] : conversations.map((conversation) => [conversation]);
  const measured: Measured[] = [];
  for (const group of groups) measured.push(await measure(group, env, name === "hybrid"));
  const scores = measured.flatMap((one) => one.scores);
  const bar = BARS[name] as Figures;
  const figures = average(scores);
  const holds = (Object.keys(bar) as (keyof Figures)[]).every((key) => figures[key] >= bar[key]);
  isGood &&= holds;
  print(`${line(name, figures)}   ${holds ? "ok" : "MISS"}`);
  print(line("  bar", bar));
  printCategories(scores);
  printRefusals(measured);
  for (const other of Object.keys(measured[0]?.others ?? {})) {
    const theirs = measured.flatMap((one) => one.others[other] ?? []);
    print(line(other, average(theirs)));
    printCategories(theirs);
  }
}
process.exit(isGood ? 0 : 1);

/** Mines `group` into one palace; returns a score for each question. */
async function measure(
  group: readonly Conversation[],
  env: Readonly<Record<string, string>>,
  withOthers: boolean,
): Promise<Measured> {
  await using palace = createTestPalace({ built: existsSync(join(ROOT, "dist/bin/mempalace-docs.js")), env });
  await palace.startBroker();
  for (const conversation of group) await mine(palace, conversation);
  const client = await palace.client();
  if (Object.keys(env).length > 0) await embedded(client);
  const scores: Score[] = [];
  const refused: Measured["refused"] = { own: [], foreign: [] };
  const search = async (query: string, limit: number): Promise<Answer> =>
    (await client.callTool("mempalace_search", { query, limit })) as Answer;
  const isRefusal = (answer: Answer): boolean => answer.weak_match === true || answer.nothing_found === true;
  for (const conversation of group) {
    const placed = placeAll(conversation);
    await askAll(conversation.questions, async (question) => {
      const answer = await search(question.question, LIMIT);
      scores.push(scoreHits(question, answer.results, conversation.id, placed));
      refused.own.push(isRefusal(answer));
    });
  }
  const foreign = conversations.filter((conversation) => !group.includes(conversation));
  const strange = foreign.flatMap(({ questions }) => questions).filter((_, at) => at % FOREIGN_STEP === 0);
  await askAll(strange, async ({ question }) => void refused.foreign.push(isRefusal(await search(question, 1))));
  client.close();
  return { scores, refused, others: withOthers ? await compareOthers(palace, group) : {} };
}

async function askAll<T>(asked: readonly T[], ask: (one: T) => Promise<void>): Promise<void> {
  const queue = [...asked];
  const worker = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await ask(one);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

/** Scores upstream's rankings over the drawers and vectors of this palace. */
async function compareOthers({ config }: TestPalace, group: readonly Conversation[]): Promise<Record<string, Score[]>> {
  const drawers = readDrawers(config.paths.ledgerFile);
  const files = await findModel(config.model);
  if (files === undefined) throw new Error("the model is gone");
  const embedder: Embedder = await openEmbedder(files, { threads: 1 });
  const others: Record<string, Score[]> = {};
  for (const conversation of group) {
    const placed = placeAll(conversation);
    for (const question of conversation.questions) {
      const [vector] = await embedder.embed([question.question]);
      if (vector === undefined) throw new Error("the model gave no vector");
      for (const [name, ranking] of Object.entries(UPSTREAM_RANKINGS))
        (others[name] ??= []).push(
          scoreHits(question, ranking(question.question, vector, drawers), conversation.id, placed),
        );
    }
  }
  await embedder.close();
  return others;
}

function readDrawers(ledgerFile: string): RankedDrawer[] {
  const ledger = new Database(ledgerFile, { readonly: true });
  const rows = ledger
    .prepare("SELECT text, wing, source_file, vector FROM drawer JOIN vector ON vector.row = drawer.row")
    .all() as { text: string; wing: string; source_file: string; vector: Buffer }[];
  ledger.close();
  return rows.map(({ vector, source_file: source, ...row }) => ({
    ...row,
    source_file: source.slice(source.lastIndexOf("/") + 1),
    vector: new Float32Array(new Uint8Array(vector).buffer),
  }));
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

function printCategories(scores: readonly Score[]): void {
  for (const [category, name] of Object.entries(CATEGORIES))
    print(line(`    ${name}`, average(scores.filter((score) => score.category === Number(category)))));
}

function printRefusals(measured: readonly Measured[]): void {
  const share = (of: keyof Measured["refused"]): string => {
    const answers = measured.flatMap(({ refused }) => refused[of]);
    return `${((100 * answers.filter(Boolean).length) / answers.length).toFixed(1)} % of ${answers.length}`;
  };
  const foreign = measured.some(({ refused }) => refused.foreign.length > 0);
  print(
    `    called weak or empty: ${share("own")} questions about the palace${
      foreign ? `, ${share("foreign")} about another` : ""
    }`,
  );
}

function line(name: string, { recall5, recall10, hit5, hit10 }: Figures): string {
  return `${name.padEnd(NAME_WIDTH)} ${[recall5, recall10, hit5, hit10].map((value) => value.toFixed(1).padEnd(6)).join("")}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
