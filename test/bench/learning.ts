/**
 * `npm run bench:learning` measures whether outcomes improve the memory. Each round of a generated world (learning-world.ts) asks about
 * every problem in another wording, gets four memories, and reports their outcomes. Prints precision@4 of our turn (learning-turn.ts),
 * plain similarity, a simple rule, and Roampal 0.3.6.1's formula. Needs the real model beside the checkout (../shared).
 */
import { exchangeText } from "../../src/learning/turn/exchange.ts";
import { newStanding } from "../../src/learning/memory/memory.ts";
import { afterOutcome } from "../../src/learning/scoring/apply-outcome.ts";
import { rank } from "../../src/learning/search/ranking.ts";
import { openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import type { Standing, Telling } from "../../src/memory/port/outcome.ts";
import type { Embedder } from "../../src/memory/port/search.ts";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { benchScale } from "./learning-scale.ts";
import { benchTalks } from "./learning-talks.ts";
import { ANSWER, openTurns } from "./learning-turn.ts";
import { KINDS, makeWorld, play, type Setting, SHOWN, START_MS, type Strategy } from "./learning-world.ts";

process.env["ORT_DISABLE_TELEMETRY"] = "1";

/** Seeds of the worlds. Other seeds served to choose the constants of learning/scoring/trust.ts. */
const SEEDS = [1, 2, 3, 4, 5];
const SETTINGS: readonly (Setting & { name: string })[] = [
  { name: "no outcome wrong", noise: 0, praise: 0, isChanging: false },
  { name: "20 % of the turns judged wrongly", noise: 0.2, praise: 0, isChanging: false },
  { name: "40 % of the turns judged wrongly", noise: 0.4, praise: 0, isChanging: false },
  { name: "misleading praised 3 times before", noise: 0, praise: 3, isChanging: false },
  { name: "the truth changes after round 5", noise: 0, praise: 0, isChanging: true },
  { name: "… and 20 % judged wrongly", noise: 0.2, praise: 0, isChanging: true },
];
const ROUNDS_PRINTED = [1, 2, 3, 5, 6, 8, 10];
const NAME_WIDTH = 36;
const FACT_WEIGHT = { importance: 0.7, confidence: 0.7 };

if (realModelDir === undefined) {
  process.stderr.write("left out: ../shared/models is not beside this checkout\n");
  process.exit(1);
}
await using home = createTestPalace({ env: { MEMPALACE_MODEL_DIR: realModelDir } });
const files = await findModel(home.config.model);
if (files === undefined) throw new Error(`no model in ${realModelDir}`);
const model = await openEmbedder(files, { threads: 1 });
/** Caches vectors, because all strategies use the same texts. */
const embedder = remembering(model);

const best = (KINDS.true / SHOWN).toFixed(2);
print(`Precision@${SHOWN} (at best ${best}) of what a turn is shown, mean ± spread of ${SEEDS.length} seeds`);
/** Numbers of the settings to run: `node test/bench/learning.ts 0 2`. Without numbers, all settings run. */
const chosen = process.argv.slice(2).map(Number);
for (const { name, ...setting } of SETTINGS.filter((_, at) => chosen.length === 0 || chosen.includes(at))) {
  const rounds = ROUNDS_PRINTED.map((round) => `round ${round}`.padStart(14));
  print(`\n${name.padEnd(NAME_WIDTH)}${rounds.join("")}`);
  const table = new Map<string, number[][]>();
  for (const seed of SEEDS)
    for (const [strategy, precision] of await playAll(setting, seed))
      table.set(strategy, [...(table.get(strategy) ?? []), precision]);
  for (const [strategy, runs] of table) {
    const figures = ROUNDS_PRINTED.map((round) => spread(runs.map((run) => run[round - 1] ?? 0)).padStart(14));
    print(`${strategy.padEnd(NAME_WIDTH)}${figures.join("")}`);
  }
}
await model.close();
if (chosen.length === 0) {
  if (!(await benchTalks(realModelDir, print))) print("\nleft out: ../shared/bench is not beside this checkout");
  const { name, measured, bar, ok } = await benchScale();
  print(`\n${ok ? "ok  " : "MISS"}  ${name}  ${measured} (${bar})`);
}

/** Plays one world under every strategy. Returns the precision of each round. */
async function playAll(setting: Setting, seed: number): Promise<[strategy: string, precision: number[]][]> {
  const world = makeWorld(seed);
  const vectors = await embedder.embed(world.memories.map(({ text }) => text));
  await using ours = await openTurns(world, embedder, START_MS);
  const strategies: Record<string, Strategy> = {
    "plain likeness": simple(vectors, false),
    "likeness, without what failed more": simple(vectors, true),
    "Roampal 0.3.6.1's formula": formula(vectors),
    ours,
  };
  const played: [string, number[]][] = [];
  for (const [name, strategy] of Object.entries(strategies))
    played.push([name, await play(world, setting, strategy, seed)]);
  return played;
}

/**
 * Ranks by similarity. With `counts`, leaves out memories that failed more often than they worked. As in our turn, each exchange is a
 * memory that expires before the next round.
 */
function simple(vectors: readonly Float32Array[], counts: boolean): Strategy {
  const balance = vectors.map(() => 0);
  let exchanges: { vector: Float32Array; balance: number }[] = [];
  let asked: string | undefined;
  const shares = (outcome: Telling): number => (!counts ? 0 : outcome === "failed" ? -1 : 1);
  return {
    show: async (question) => {
      asked = question;
      const kept = exchanges.filter((one) => one.balance >= 0).map(({ vector }) => vector);
      const shown = await first([...vectors, ...kept], question, (cosine, at) =>
        (balance[at] ?? 0) < 0 ? -Infinity : cosine,
      );
      return shown.map((at) => (at < vectors.length ? at : -1));
    },
    hear: async (outcomes, answer) => {
      for (const [at, outcome] of outcomes) balance[at] = (balance[at] ?? 0) + shares(outcome);
      const text = asked === undefined ? undefined : exchangeText({ user: asked, assistant: ANSWER })?.text;
      if (text === undefined) return;
      const [vector = new Float32Array()] = await embedder.embed([text]);
      exchanges.push({ vector, balance: shares(answer) });
    },
    rest: () => {
      exchanges = [];
      return Promise.resolve();
    },
  };
}

/** Ranks by Roampal's formula, without its word search, promotion and deletion, which do not change the choice for a prompt. */
function formula(vectors: readonly Float32Array[]): Strategy {
  const standings = vectors.map((): Standing => newStanding(0.5));
  return {
    show: (question) =>
      first(vectors, question, (cosine, at) => {
        const standing = standings[at] as Standing;
        return rank({ collection: "working", standing, weight: FACT_WEIGHT }, 2 - 2 * cosine).final;
      }),
    hear: (outcomes, _answer, atMs) => {
      for (const [at, outcome] of outcomes)
        standings[at] = afterOutcome(standings[at] as Standing, { outcome, atMs, reason: null, weight: 1 });
      return Promise.resolve();
    },
  };
}

async function first(
  vectors: readonly Float32Array[],
  question: string,
  score: (cosine: number, at: number) => number,
): Promise<number[]> {
  const [asked = new Float32Array()] = await embedder.embed([question]);
  const scored = vectors.map((vector, at) => ({ at, score: score(dot(vector, asked), at) }));
  return scored
    .filter((one) => one.score > -Infinity)
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, SHOWN)
    .map(({ at }) => at);
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, one, at) => sum + one * (b[at] ?? 0), 0);
}

function remembering(inner: Embedder): Embedder {
  const known = new Map<string, Float32Array>();
  return {
    identity: inner.identity,
    close: () => inner.close(),
    embed: async (texts) => {
      const missing = [...new Set(texts.filter((text) => !known.has(text)))];
      for (let start = 0; start < missing.length; start += 32) {
        const part = missing.slice(start, start + 32);
        for (const [at, vector] of (await inner.embed(part)).entries()) known.set(part[at] ?? "", vector);
      }
      return texts.map((text) => known.get(text) ?? new Float32Array());
    },
  };
}

function spread(values: readonly number[]): string {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  return `${mean.toFixed(3)} ±${Math.sqrt(variance).toFixed(3)}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
