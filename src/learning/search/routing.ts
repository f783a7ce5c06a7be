/** Prefers collections that answered earlier questions with the same concepts (outcome-memory.md 3.6, 8.3). */
import type { Answered, Question, Telling } from "../../memory/port/outcome.ts";
import { COLLECTIONS, type Collection, isCollection } from "../memory/memory.ts";

export type Tally = { successes: number; failures: number; partials: number; total: number };

/** Outcomes for one concept, by the collection of the judged memory. `best`: the collection with the highest success rate, `rate`. */
export type Route = { tallies: Partial<Record<Collection, Tally>>; best: Collection; rate: number };

export type Phase = "exploration" | "medium" | "high";
export type Routing = { collections: Collection[]; phase: Phase; total: number; known: number };

const SURE_USES = 10;
const MEDIUM = { from: 0.5, best: 3, above: 0.1 } as const;
const HIGH = { from: 2, best: 2, above: 0.5 } as const;

/** Returns a route for each concept of the question that has outcomes. */
export function routesOf({ concepts }: Pick<Question, "concepts">, answered: readonly Answered[]): Route[] {
  const routes = new Map<number, Route>();
  const asked = new Set(concepts);
  for (const { collection, outcome, concepts: of } of answered)
    for (const concept of of)
      if (asked.has(concept) && isCollection(collection))
        routes.set(concept, afterRouted(routes.get(concept), collection, outcome));
  return [...routes.values()];
}

export function route(routes: readonly Route[]): Routing {
  const scores = new Map<Collection, number>();
  for (const { tallies } of routes)
    for (const [name, tally] of Object.entries(tallies) as [Collection, Tally][])
      scores.set(name, (scores.get(name) ?? 0) + rateOf(tally) * confidenceOf(tally));
  const total = [...scores.values()].reduce((sum, score) => sum + score, 0);
  const known = routes.length;
  if (known === 0 || total < MEDIUM.from) return { collections: [...COLLECTIONS], phase: "exploration", total, known };
  const isHigh = total >= HIGH.from;
  const { best, above } = isHigh ? HIGH : MEDIUM;
  const ordered = COLLECTIONS.map((name) => ({ name, score: scores.get(name) ?? 0 })).sort((a, b) => b.score - a.score);
  const collections = ordered
    .filter(({ score }, place) => place === 0 || score > above)
    .slice(0, best)
    .map(({ name }) => name);
  return { collections, phase: isHigh ? "high" : "medium", total, known };
}

function rateOf({ successes, failures }: Tally): number {
  return successes + failures === 0 ? 0.5 : successes / (successes + failures);
}

function confidenceOf({ successes, failures, partials }: Tally): number {
  return Math.min((successes + failures + partials) / SURE_USES, 1);
}

/** Adds one outcome of a memory in `collection` to a concept's route. */
export function afterRouted(before: Route | undefined, collection: Collection, outcome: Telling): Route {
  const old = before?.tallies[collection] ?? { successes: 0, failures: 0, partials: 0, total: 0 };
  const tallies = { ...before?.tallies, [collection]: counted(old, outcome) };
  let [best, rate]: [Collection, number] = [collection, 0];
  for (const [name, tally] of Object.entries(tallies) as [Collection, Tally][])
    if (rateOf(tally) > rate) [best, rate] = [name, rateOf(tally)];
  return { tallies, best, rate: rate === 0 ? 0.5 : rate };
}

function counted(tally: Tally, outcome: Telling): Tally {
  return {
    successes: tally.successes + (outcome === "worked" ? 1 : 0),
    failures: tally.failures + (outcome === "failed" ? 1 : 0),
    partials: tally.partials + (outcome === "partial" ? 1 : 0),
    total: tally.total + 1,
  };
}
