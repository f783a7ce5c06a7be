/**
 * `npm run bench:learning`: does memory get better by what came of it? A generated world has for each problem solutions that are true, that
 * were true once, and that mislead, all in the same words; each round asks about every problem, is shown four memories, and tells what came
 * of each, wrong as often as the noise says. After the last round each problem is asked about in other words. Prints precision@4 over the rounds, of ours through the product (`search_memory`,
 * `score_memories`), beside plain likeness, the newest, Roampal 0.3.6.1's own formula, and our search without scores. Needs the real model,
 * which lies beside the checkout (../shared); without it this says so and fails.
 */
import type { Client } from "../../src/client/client.ts";
import { newStanding } from "../../src/engine/outcome/memory.ts";
import { afterOutcome } from "../../src/engine/outcome/outcome.ts";
import { rank } from "../../src/engine/outcome/ranking.ts";
import { openEmbedder } from "../../src/index/embedding/embedder.ts";
import { findModel } from "../../src/index/embedding/model-files.ts";
import type { Embedder } from "../../src/port/search.ts";
import type { Standing, Telling } from "../../src/port/outcome.ts";
import { benchScale } from "./learning-scale.ts";
import { benchTalks, sentence } from "./learning-talks.ts";
import { allEmbedded } from "./settled.ts";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";

process.env["ORT_DISABLE_TELEMETRY"] = "1";

const SEEDS = 5;
const ROUNDS = 10;
/** `noise`: the part of the outcomes that are wrong; `praise`: how often each misleading memory was called good before anybody asked. */
const WORLDS = [
  { noise: 0, praise: 0 },
  { noise: 0.2, praise: 0 },
  { noise: 0.4, praise: 0 },
  { noise: 0, praise: 3 },
];
const SHOWN = 4;
/** Memories of a problem, by what they are worth. Of four that are shown, three at most can be true. */
const KINDS = { true: 3, outdated: 2, misleading: 2 } as const;
const BEST = KINDS.true / SHOWN;
const ROUNDS_PRINTED = [1, 2, 3, 5, 10];
const OTHER_WORDS = "in other words";
const NAME_WIDTH = 34;

const SUBJECTS = [
  ...["deployment pipeline", "login page", "database backup", "search index", "payment webhook", "mobile build"],
  ...["image upload", "mail queue", "staging cluster", "invoice export", "cache layer", "calendar sync"],
  ...["password reset", "log collector", "feature flags", "report generator", "chat gateway", "license check"],
  ...["test runner", "release script"],
];
const TROUBLES = ["times out under load", "fails after an upgrade"];
const REMEDIES = [
  ...["raise the timeout to two minutes", "pin the older driver", "clear the lock file first", "run it as one worker"],
  ...["turn off compression", "rotate the token", "rebuild the index overnight", "use the second region"],
  ...[
    "switch to the new endpoint",
    "drop the stale session table",
    "warm the cache beforehand",
    "add a retry with a pause",
  ],
  ...["move the job to Sunday", "double the memory limit", "disable the proxy", "use the signed certificate"],
];
const OPENINGS = [
  "When the",
  "If the",
  "Once the",
  "Whenever the",
  "In case the",
  "As soon as the",
  "Should it be that the",
];

type Kind = keyof typeof KINDS;
type Memory = { text: string; kind: Kind; problem: number };
/** `others`: the questions in other words. */
type World = { memories: Memory[]; questions: string[]; others: string[] };
/** Shows four memories for a question; hears what came of each. */
type Strategy = {
  show(question: string, vector: Float32Array): Promise<number[]>;
  hear(outcomes: ReadonlyMap<number, Telling>): Promise<void>;
};

const DEAF = { hear: () => Promise.resolve() };

if (realModelDir === undefined) {
  process.stderr.write("left out: ../shared/models is not beside this checkout\n");
  process.exit(1);
}
await using home = createTestPalace({ env: { MEMPALACE_MODEL_DIR: realModelDir } });
const files = await findModel(home.config.model);
if (files === undefined) throw new Error(`no model in ${realModelDir}`);
const embedder = await openEmbedder(files, { threads: 1 });

print(`Precision@${SHOWN} (at best ${BEST.toFixed(2)}) of what is shown, mean ± spread of ${SEEDS} seeds`);
for (const { noise, praise } of WORLDS) {
  const poison = praise === 0 ? "" : `, the misleading praised ${praise} times`;
  print(
    `\n${noise * 100} % of the outcomes wrong${poison}`.padEnd(NAME_WIDTH) +
      [...ROUNDS_PRINTED.map((round) => `round ${round}`), OTHER_WORDS].map((one) => one.padStart(14)).join(""),
  );
  const table = new Map<string, number[][]>();
  for (let seed = 1; seed <= SEEDS; seed++)
    for (const [name, rounds] of await play(seed, noise, praise)) table.set(name, [...(table.get(name) ?? []), rounds]);
  for (const [name, runs] of table)
    print(
      name.padEnd(NAME_WIDTH) +
        [...ROUNDS_PRINTED, ROUNDS + 1]
          .map((round) => spread(runs.map((run) => run[round - 1] ?? 0)).padStart(14))
          .join(""),
    );
}
await embedder.close();
if (!(await benchTalks(realModelDir, print))) print("\nleft out: ../shared/bench is not beside this checkout");
const { name, measured, bar, ok } = await benchScale();
print(`\n${ok ? "ok  " : "MISS"}  ${name}  ${measured} (${bar})`);

function makeWorld(seed: number): World {
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const memories: Memory[] = [];
  const questions: string[] = [];
  const others: string[] = [];
  for (const subject of SUBJECTS)
    for (const trouble of TROUBLES) {
      const problem = questions.length;
      questions.push(`What helps when the ${subject} ${trouble}?`);
      others.push(`Our ${subject} ${trouble} again, what was it that we did about it?`);
      const remedies = REMEDIES.toSorted(() => random() - 0.5);
      for (const kind of Object.keys(KINDS) as Kind[])
        for (let nth = 0; nth < KINDS[kind]; nth++)
          memories.push({ text: `${pick(OPENINGS)} ${subject} ${trouble}, ${remedies.pop()}.`, kind, problem });
    }
  return { memories: memories.toSorted(() => random() - 0.5), questions, others };
}

/** Rounds of one world under every strategy: name → precision of each round. */
async function play(seed: number, noise: number, praise: number): Promise<Map<string, number[]>> {
  const world = makeWorld(seed);
  const texts = await embedded(
    embedder,
    world.memories.map(({ text }) => text),
  );
  const questions = await embedded(embedder, world.questions);
  const others = await embedded(embedder, world.others);
  await using palace = createTestPalace({ built: true });
  await palace.startBroker({ MEMPALACE_MODEL_DIR: realModelDir });
  const client = await palace.client();
  const strategies: Record<string, Strategy> = {
    "the newest": newest(world),
    "plain likeness": likeness(texts),
    "Roampal 0.3.6.1's formula": formula(texts),
    ...(await product(client, world)),
  };
  const played = new Map<string, number[]>();
  for (const [name, strategy] of Object.entries(strategies)) {
    const random = seededRandom(seed * 1000 + noise * 10);
    const rounds: number[] = [];
    const misleading = world.memories.flatMap(({ kind }, at) =>
      kind === "misleading" ? [[at, "worked"] as const] : [],
    );
    for (let time = 0; time < praise; time++) await strategy.hear(new Map(misleading));
    for (let round = 0; round < ROUNDS; round++) {
      let good = 0;
      for (const [problem, question] of world.questions.entries()) {
        const shown = await strategy.show(question, questions[problem] as Float32Array);
        const outcomes = new Map<number, Telling>();
        for (const at of shown) {
          const isGood = isTrueOf(world, at, problem);
          if (isGood) good += 1;
          if (world.memories[at]?.problem === problem)
            outcomes.set(at, isGood !== random() < noise ? "worked" : "failed");
        }
        await strategy.hear(outcomes);
      }
      rounds.push(good / (world.questions.length * SHOWN));
    }
    let good = 0;
    for (const [problem, question] of world.others.entries()) {
      const shown = await strategy.show(question, others[problem] as Float32Array);
      good += shown.filter((at) => isTrueOf(world, at, problem)).length;
    }
    rounds.push(good / (world.others.length * SHOWN));
    played.set(name, rounds);
  }
  client.close();
  return played;
}

function isTrueOf({ memories }: World, at: number, problem: number): boolean {
  return memories[at]?.kind === "true" && memories[at].problem === problem;
}

function newest({ memories }: World): Strategy {
  const last = memories.map((_, at) => at).slice(-SHOWN);
  return { ...DEAF, show: () => Promise.resolve(last) };
}

function likeness(vectors: readonly Float32Array[]): Strategy {
  return { ...DEAF, show: (_question, vector) => Promise.resolve(first(vectors, (one) => dot(one, vector))) };
}

/** Vectors and outcomes, without words, moves and deletions, which the original's injection does not need. */
function formula(vectors: readonly Float32Array[]): Strategy {
  const standings = vectors.map((): Standing => newStanding(0.5));
  const weight = { importance: 0.7, confidence: 0.7 };
  return {
    show: (_question, vector) =>
      Promise.resolve(
        first(vectors, (one, at) => {
          const standing = standings[at] as Standing;
          return rank({ collection: "working", standing, weight }, 2 - 2 * dot(one, vector)).final;
        }),
      ),
    hear: (outcomes) => {
      for (const [at, outcome] of outcomes)
        standings[at] = afterOutcome(standings[at] as Standing, { outcome, atMs: Date.now(), reason: null, weight: 1 });
      return Promise.resolve();
    },
  };
}

/** Ours, and the same palace searched without regard to what came of a memory. */
async function product(client: Client, { memories }: World): Promise<Record<string, Strategy>> {
  for (const { text } of memories) await sentence(client, "record_response", { key_takeaway: text });
  await allEmbedded(client);
  const numbers = new Map(memories.map(({ text }, at) => [`Key takeaway: ${text}`, at]));
  const ids = new Map<number, string>();
  const shown = (answer: string): number[] =>
    [...answer.matchAll(/\[id:(\w+)\] (.*)/g)].flatMap(([, id = "", text = ""]) => {
      const at = numbers.get(text);
      if (at !== undefined) ids.set(at, id);
      return at ?? [];
    });
  for (const text of numbers.keys()) shown(await sentence(client, "search_memory", { query: text, limit: 1 }));
  return {
    "our search without scores": {
      ...DEAF,
      show: async (question) => {
        const found = await client.callTool("mempalace_search", { query: question, wing: "roampal", limit: SHOWN });
        return (found as { results: { text: string }[] }).results.flatMap(({ text }) => numbers.get(text) ?? []);
      },
    },
    ours: {
      show: async (question) => shown(await sentence(client, "search_memory", { query: question, limit: SHOWN })),
      hear: async (outcomes) => {
        const scores = [...outcomes].map(([at, outcome]) => [ids.get(at) ?? "", outcome]);
        await sentence(client, "score_memories", {
          outcome: "worked",
          memory_scores: Object.fromEntries(scores) as object,
        });
      },
    },
  };
}

function first(vectors: readonly Float32Array[], score: (vector: Float32Array, at: number) => number): number[] {
  const scored = vectors.map((vector, at) => ({ at, score: score(vector, at) }));
  return scored
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, SHOWN)
    .map(({ at }) => at);
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, one, at) => sum + one * (b[at] ?? 0), 0);
}

async function embedded(model: Embedder, texts: readonly string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < texts.length; start += 32)
    vectors.push(...(await model.embed(texts.slice(start, start + 32))));
  return vectors;
}

function spread(values: readonly number[]): string {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  return `${mean.toFixed(3)} ±${Math.sqrt(variance).toFixed(3)}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
