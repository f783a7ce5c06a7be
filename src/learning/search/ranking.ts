/** Sorts the results of a search by likeness and by past outcomes (outcome-memory.md 2.9). Pure. */
import type { Standing } from "../../memory/port/outcome.ts";
import type { Collection, Weight } from "../memory/memory.ts";
import { expected, wilson } from "../scoring/wilson.ts";

/** Number of uses from which `learnedScore` gives the lower bound of the success rate its full share. */
const SETTLED_USES = 3;
const QUALITY_SHARE = 0.8;

export type Rankable = {
  collection: Collection;
  standing: Pick<Standing, "score" | "uses" | "successes">;
  weight: Weight;
};

export type Rank = { similarity: number; learned: number; final: number };

export function quality({ importance, confidence }: Weight): number {
  return importance * confidence;
}

/** Returns how good a memory is by its outcomes so far, 0…1. */
export function learnedScore({ collection, standing, weight }: Rankable): number {
  const { score, uses } = standing;
  const bound = wilson(successesOf(standing), uses);
  if (collection === "memory_bank") return settledQuality(quality(weight), uses, bound);
  const share = Math.min(uses / SETTLED_USES, 1);
  return (1 - share) * score + share * bound;
}

/** Returns the number of successes. If a row of another program has uses but no successes, its score counts as the success rate. */
function successesOf({ score, uses, successes }: Rankable["standing"]): number {
  return successes === 0 ? score * uses : successes;
}

function settledQuality(given: number, uses: number, proven: number): number {
  return uses < SETTLED_USES ? given : QUALITY_SHARE * given + (1 - QUALITY_SHARE) * proven;
}

/** Returns the share of the learned score in the rank, by uses, score and weight. The rest is the share of similarity. */
export function learnedShare({ collection, standing: { uses }, weight }: Rankable, learned: number): number {
  if (uses >= 5 && learned >= 0.8) return 0.8;
  if (uses >= 3 && learned >= 0.7) return 0.75;
  if (uses >= 2 && learned >= 0.5) return 0.65;
  if (uses >= 2) return 0.3;
  if (collection === "memory_bank") return quality(weight) >= 0.8 ? 0.55 : 0.5;
  return 0.2;
}

export function rank(memory: Rankable, distance: number): Rank {
  const similarity = 1 / (1 + distance);
  const learned = learnedScore(memory);
  const share = learnedShare(memory, learned);
  return { similarity, learned, final: (1 - share) * similarity + share * learned };
}

/** Exponent of the likeness in `worth`, a product. With a sum, one success would show a memory for every question (bench:learning). */
const NEARNESS_POWER = 8;

/** Returns the expected value of the next use, 0…1. Half of it is the score, because a signal changes only the score. */
export function prospect(standing: Rankable["standing"]): number {
  return (expected(successesOf(standing), standing.uses) + standing.score) / 2;
}

/** Width of the range 0.9…1.1 of the factor by which `prospect` changes `worth`. */
const PROSPECT_SHARE = 0.2;

/** Returns the value that a search sorts by. It depends mostly on likeness, then on trust (trust.ts) or, for a fact, on its weight. */
export function worth({ collection, standing, weight }: Rankable, similarity: number, trusted: number): number {
  const bringing = prospect(standing);
  const near = similarity ** NEARNESS_POWER;
  if (collection === "memory_bank") return near * (0.5 + settledQuality(quality(weight), standing.uses, bringing));
  return near * trusted * (1 + PROSPECT_SHARE * (bringing - 0.5));
}

export type Boosts = {
  ageMs: number;
  /** Number of outcomes of a fact or book, and their success rate. */
  evidence: { uses: number; rate: number } | undefined;
  /** Boost of 1…1.1 for shared entities (content-graph.ts). */
  entities: number;
  /** How the memory solved this problem before (known-solutions.ts). */
  solved: "exactly" | "partly" | undefined;
  /** True if the memory's collection answered questions with these concepts (routing.ts). */
  isRouted: boolean;
};

const NEW_BOOK_MS = 7 * 86_400_000;
const EVIDENCE_USES = 3;
/** Factors for the distance of a solution. With Roampal's factor 0.5 a wrong solution would be shown for ever (npm run bench:learning). */
const SOLVED = { exactly: 0.8, partly: 0.9 } as const;
const ROUTED = 0.99;
/** Divisor of a distance: `least` at a success rate of 0, `least` + `range` at 1. */
const EVIDENCE = { least: 0.9, range: 0.2 } as const;

export function boosted(
  memory: Rankable,
  distance: number,
  { ageMs, evidence, entities, solved, isRouted }: Boosts,
): number {
  const { collection, standing, weight } = memory;
  let near = distance;
  if (collection === "patterns") near *= 0.9;
  if (collection === "memory_bank") {
    const bound = wilson(successesOf(standing), standing.uses);
    near *= 1 - 0.4 * settledQuality(quality(weight), standing.uses, bound);
  }
  if (collection === "books" && ageMs <= NEW_BOOK_MS) near *= 0.7;
  const isStanding = collection === "memory_bank" || collection === "books";
  if (isStanding && evidence !== undefined && evidence.uses >= EVIDENCE_USES)
    near /= EVIDENCE.least + EVIDENCE.range * evidence.rate;
  if (isRouted) near *= ROUTED;
  return (near / Math.max(entities, 1)) * (solved === undefined ? 1 : SOLVED[solved]);
}
