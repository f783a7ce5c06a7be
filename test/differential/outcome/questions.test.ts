/**
 * Compares our reading of questions and our learning from outcomes with the real Roampal. Also fails if an accepted difference occurs in no case.
 */
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { spelledOut } from "../../../src/learning/search/acronyms.ts";
import { concepts } from "../../../src/learning/question/concepts.ts";
import { contextType } from "../../../src/learning/question/context-type.ts";
import { solutionsOf } from "../../../src/learning/search/known-solutions.ts";
import type { Collection } from "../../../src/learning/memory/memory.ts";
import { age } from "../../../src/learning/memory/described.ts";
import { conceptNumber } from "../../../src/learning/question/question.ts";
import { afterRouted, route, type Route } from "../../../src/learning/search/routing.ts";
import type { Telling } from "../../../src/memory/port/outcome.ts";
import { askRoampal, ROAMPAL_VERSIONS, type RoampalVersion, roampalMissing } from "../../helpers/python-roampal.ts";
import { seededRandom } from "../../helpers/random.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

/** Accepted differences in the graphs, each with its reason. Only Roampal 0.3.6.1 has graphs. */
const GRAPH_DIFFERENCES = {
  "own-words-whole":
    "the original drops every word that contains one of its own words, `networking` for `working` (defect D9)",
  "partials-are-uses": "the document counts partial outcomes as uses of a route; the package never writes them (3.6)",
  "solution-worked-twice":
    "one wrong outcome must not make a solution: a memory that worked once, or failed half as often, is not one",
  "known-by-five":
    "questions are compared by their whole stored form; the original compares five of their concepts (8.4)",
  "alike-counts-too":
    "a solution of a similar question also counts; the original keeps the two questions separate (8.4)",
} as const;
const DIFFERENCES = {
  "everyday-acronyms": "`us`, `la`, `rest` are words, so they are expanded only in capitals (3.9)",
  "acronym-wording": "the expansions are ours; `git` has one",
  "acronym-once": "an acronym that a question contains twice is expanded once",
  "time-ahead": "after a clock went back we call a memory new; the original says `23h`",
  ...GRAPH_DIFFERENCES,
} as const;
type Name = keyof typeof DIFFERENCES;

const SEED = Number(process.env["PALACE_DIFFERENTIAL_SEED"] ?? 1);
const CASES = 600;
const GRAPHS: RoampalVersion = "0.3.6.1";
const NEAR = 1e-9;
const HOUR = 3_600;
const DAY = 24 * HOUR;
const COLLECTIONS = ["working", "history", "patterns", "memory_bank", "books"] as const;
/**
 * Words from which the texts are made: words of each kind of question, names of the memory's own tools and collections, stop words, other
 * scripts.
 */
const WORDS =
  `code barcode classes error debug API python git builds contest workout gym weights money tax taxi stock learn course book
  understanding concept write rewrite essay blogs draft networking Working history-book document documents search_memory memory_bank
  add_to_memory_bank result results validated query the how does it an ox C++ node.js git-rebase snake_case Größe café 日本語 42 2024 user's
  docker compose flaky timeout deploy "quoted" (paren) – e-mail`.split(/\s+/);
/** Words of the texts for the graphs. None is about the memory itself, because we and Roampal drop such words differently. */
const PLAIN = "docker compose flaky timeout deploy pipeline cache login token rust linker schema".split(" ");

type Told = [text: string, of: string, outcome: Telling][];
type Case = { told: Told; query: string };
type Cases = { texts: string[]; ages: number[]; routes: Case[]; solutions: Case[] };
type Routed = {
  recommended: Recommended;
  scores: Record<string, number>;
  routes: Record<string, [best: string, rate: number]>;
};
type Recommended = { top_collections: string[]; match_count: number; confidence_level: string; total_score?: number };
type Answers = {
  spelled: [text: string, spelled: string][];
  ages: string[];
  concepts?: string[][];
  contexts?: string[];
  routes?: Routed[];
  solutions?: Solutions[];
};
/** Known solutions of a question. `same`: texts that Roampal treats as this question. */
type Solutions = { exactly: [id: string, times: number][]; same: string[] };
type Note = (name: Name) => void;

function cases(): Cases {
  const random = seededRandom(SEED);
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const some = (words: readonly string[], most: number): string =>
    Array.from({ length: 1 + below(most) }, () => pick(words)).join(pick([" ", " ", "  ", ", ", "\n"]));
  const outcome = (): Telling => pick(["worked", "worked", "failed", "partial"] as const);
  const told = (texts: readonly string[], of: () => string, most: number): Told =>
    Array.from({ length: below(most) }, () => [pick(texts), of(), outcome()]);
  return {
    texts: Array.from({ length: CASES }, () => some(WORDS, 14)),
    // Each age is half a minute away from a change of wording, so a slow run gets the same wording.
    ages: Array.from(
      { length: CASES },
      (_, at) => 30 + pick([60 * (at % 100), HOUR * (at % 60), DAY * (at % 40), DAY * at * 2]),
    ).concat(-HOUR),
    routes: Array.from({ length: CASES }, () => {
      const texts = Array.from({ length: 1 + below(4) }, () => some(PLAIN, 5));
      return { told: told(texts, () => pick(COLLECTIONS), 24), query: pick([...texts, some(PLAIN, 6)]) };
    }),
    solutions: Array.from({ length: CASES }, () => {
      const first = some(PLAIN, 7);
      const texts = [first, `${first} ${pick(PLAIN)}`, some(PLAIN, 7)].slice(below(2));
      const ids = ["patterns_1", "history_2", "memory_bank_3"];
      return { told: told(texts, () => pick(ids), 12), query: pick([...texts, some(PLAIN, 7)]) };
    }),
  };
}

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  const title = `we read questions as Roampal ${version} does`;
  test.skipIf(missing !== undefined)(missing === undefined ? title : `${title} (${missing})`, () => agrees(version));
}

async function agrees(version: RoampalVersion): Promise<void> {
  const all = cases();
  const hasGraphs = version === GRAPHS;
  const asked = { ...all, graphs: hasGraphs };
  const theirs = (await askRoampal(version, join(import.meta.dirname, "questions.py"), asked)) as Answers;
  const met = new Set<Name>();
  const note: Note = (name) => met.add(name);

  for (const [text, spelled] of theirs.spelled) expectSpelled(text, spelled, note);
  for (const [at, seconds] of all.ages.entries()) {
    if (seconds < 0) note("time-ahead");
    else expect(age(-seconds * 1000, 0), `${seconds} s`).toBe(theirs.ages[at]);
  }
  if (hasGraphs) {
    expect([theirs.concepts?.length, theirs.routes?.length, theirs.solutions?.length]).toEqual([CASES, CASES, CASES]);
    expect(all.texts.map(contextType)).toEqual(theirs.contexts);
    for (const [at, text] of all.texts.entries()) expectConcepts(text, theirs.concepts?.[at] ?? [], note);
    for (const [at, one] of all.routes.entries()) expectRoutes(one, theirs.routes?.[at], note);
    for (const [at, one] of all.solutions.entries()) expectSolutions(one, theirs.solutions?.[at], note);
  }
  const expected = Object.keys(DIFFERENCES).filter((name) => hasGraphs || !Object.hasOwn(GRAPH_DIFFERENCES, name));
  expect([...met].toSorted()).toEqual(expected.toSorted());
}

const EVERYDAY = /\b(us|la|rest|pip|git|eta|hr|mit)\b/;
const OWN_WORDING = /\b(jpg|pip|git)\b/i;

function expectSpelled(text: string, theirs: string, note: Note): void {
  const ours = spelledOut(text);
  if (ours === theirs) return;
  const plain = text.replaceAll(/\s+/g, " ");
  const [meaning, their] = [ours, theirs].map((spelled) => spelled.slice(plain.length).trim());
  const isOnce = their === `${meaning} ${meaning}`;
  if (meaning === "" && EVERYDAY.test(text)) note("everyday-acronyms");
  else if (meaning !== "" && OWN_WORDING.test(text)) note("acronym-wording");
  else if (isOnce) note("acronym-once");
  else expect(ours).toBe(theirs);
}

const OWN =
  /working|history|patterns|books|function|parameter|response|request|query|result|collection|metadata|timestamp|document|validated/;

function expectConcepts(text: string, theirs: readonly string[], note: Note): void {
  const ours = concepts(text);
  const kept = ours.filter((concept) => !OWN.test(concept));
  if (kept.length < ours.length) note("own-words-whole");
  expect(kept.toSorted(), text).toEqual(theirs.toSorted());
}

function routesAfter(told: Told, query: string): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const [text, collection, outcome] of told)
    for (const concept of concepts(text))
      routes.set(concept, afterRouted(routes.get(concept), collection as Collection, outcome));
  return new Map(concepts(query).flatMap((concept) => [...routes].filter(([name]) => name === concept)));
}

function expectRoutes({ told, query }: Case, theirs: Routed | undefined, note: Note): void {
  const routes = routesAfter(told, query);
  const best = Object.fromEntries([...routes].map(([concept, one]) => [concept, [one.best, one.rate]]));
  const { recommended, scores } = theirs ?? expect.fail();
  expect(best).toEqual(theirs?.routes);
  const ours = route([...routes.values()]);
  expect(ours.known).toBe(recommended.match_count);
  const without = route([...routes.values()].map(withoutPartials));
  if (Math.abs(without.total - ours.total) > NEAR) note("partials-are-uses");
  const { total_score: total = 0, top_collections: top } = recommended;
  expect(without.total).toBeCloseTo(total, 9);
  // The last digits of a sum depend on its order, so a score near a threshold may be on either side.
  const isOn = (edge: number, score: number): boolean => Math.abs(score - edge) < NEAR;
  if (isOn(0.5, total) || isOn(2, total)) return;
  if (Object.values(scores).some((score) => [0.1, 0.5].some((edge) => score !== edge && isOn(edge, score)))) return;
  const inTenths = (names: readonly string[]): string[] => names.map((name) => (scores[name] ?? 0).toFixed(9));
  expect([without.phase, inTenths(without.collections)]).toEqual([recommended.confidence_level, inTenths(top)]);
}

function withoutPartials({ tallies, ...one }: Route): Route {
  const counted = Object.entries(tallies).map(([name, tally]) => [name, { ...tally, partials: 0 }] as const);
  return { ...one, tallies: Object.fromEntries(counted) };
}

function expectSolutions({ told, query }: Case, theirs: Solutions | undefined, note: Note): void {
  const { exactly, same } = theirs ?? expect.fail();
  const concept = concepts(query).join();
  if (same.some((text) => concepts(text).join() !== concept)) note("known-by-five");
  const asQuery = told.flatMap(([text, ...rest]): Told => (same.includes(text) ? [[query, ...rest]] : []));
  const alone = solvedExactly(asQuery, query);
  if (solvedExactly(told, query).length > alone.length) note("alike-counts-too");
  const failures = (of: string): number =>
    asQuery.filter(([, id, outcome]) => id === of && outcome === "failed").length;
  const sure = exactly.filter(([id, times]) => times > 1 + 2 * failures(id));
  if (sure.length < exactly.length) note("solution-worked-twice");
  expect(alone.toSorted(), JSON.stringify({ told, query })).toEqual(sure.toSorted());
}

function solvedExactly(told: Told, query: string): [id: string, times: number][] {
  const answered = told.map(([text, id, outcome], at) => ({
    ...{ id, outcome, collection: id.slice(0, id.lastIndexOf("_")), atMs: at, context: "general" },
    concepts: concepts(text).map(conceptNumber),
  }));
  const found = solutionsOf({ concepts: concepts(query).map(conceptNumber) }, answered);
  return [...found].flatMap(([id, { how, times }]) => (how === "exactly" ? [[id, times]] : []));
}
