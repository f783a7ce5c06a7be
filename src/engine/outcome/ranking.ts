/**
 * The order of what a search has found: how near a memory is, and what became of it so far. Pure. Source: outcome-memory.md 2.9.
 */
import type { Standing } from "../../port/outcome.ts";
import type { Collection, Weight } from "./memory.ts";
import { expected, wilson } from "./wilson.ts";

/** Uses after which the outcomes alone tell how good a memory is. */
const SETTLED_USES = 3;
const QUALITY_SHARE = 0.8;

export type Rankable = {
  collection: Collection;
  standing: Pick<Standing, "score" | "uses" | "successes">;
  /** Of a memory_bank fact. */
  weight: Weight;
};

export type Rank = { similarity: number; learned: number; final: number };

export function quality({ importance, confidence }: Weight): number {
  return importance * confidence;
}

/** How good a memory has turned out to be, 0…1. */
export function learnedScore({ collection, standing, weight }: Rankable): number {
  const { score, uses } = standing;
  const bound = wilson(successesOf(standing), uses);
  if (collection === "memory_bank") return settledQuality(quality(weight), uses, bound);
  const share = Math.min(uses / SETTLED_USES, 1);
  return (1 - share) * score + share * bound;
}

/** Rows of others may have uses without successes: their score tells the rate then. */
function successesOf({ score, uses, successes }: Rankable["standing"]): number {
  return successes === 0 ? score * uses : successes;
}

function settledQuality(given: number, uses: number, proven: number): number {
  return uses < SETTLED_USES ? given : QUALITY_SHARE * given + (1 - QUALITY_SHARE) * proven;
}

/** The shares of similarity and of what was learned, by how far a memory has come; they add up to 1. */
export function learnedShare({ collection, standing: { uses }, weight }: Rankable, learned: number): number {
  if (uses >= 5 && learned >= 0.8) return 0.8;
  if (uses >= 3 && learned >= 0.7) return 0.75;
  if (uses >= 2 && learned >= 0.5) return 0.65;
  if (uses >= 2) return 0.3;
  if (collection === "memory_bank") return quality(weight) >= 0.8 ? 0.55 : 0.5;
  return 0.2;
}

/** `distance`: squared Euclidean between unit vectors, 0…4, after the boosts. */
export function rank(memory: Rankable, distance: number): Rank {
  const similarity = 1 / (1 + distance);
  const learned = learnedScore(memory);
  const share = learnedShare(memory, learned);
  return { similarity, learned, final: (1 - share) * similarity + share * learned };
}

/**
 * How much more than its outcomes the likeness of a memory counts in the order, as a power. Added up, as in `rank`, what is proven
 * elsewhere is shown everywhere, and crowds out what is proven here. Source: npm run bench:learning.
 */
const NEARNESS_POWER = 8;

/**
 * What the next use of a memory or drawer is expected to bring, 0…1; 0.5 where nobody has judged it. Its score is half of it, because a
 * signal moves nothing else.
 */
export function prospect(standing: Rankable["standing"]): number {
  return (expected(successesOf(standing), standing.uses) + standing.score) / 2;
}

/** Range of the factor that a prospect adds whatever the question is. It decides between memories as near and as trusted. */
const PROSPECT_SHARE = 0.2;

/**
 * Returns the value that a search sorts by: the likeness of a memory, its trust for the question (trust.ts) and a little its prospect. A
 * fact has the weight that it was given instead, as a factor of 0.5 to 1.5.
 */
export function worth({ collection, standing, weight }: Rankable, similarity: number, trusted: number): number {
  const bringing = prospect(standing);
  const near = similarity ** NEARNESS_POWER;
  if (collection === "memory_bank") return near * (0.5 + settledQuality(quality(weight), standing.uses, bringing));
  return near * trusted * (1 + PROSPECT_SHARE * (bringing - 0.5));
}

export type Boosts = {
  /** Age of a book's chunk, ms. */
  ageMs: number;
  /** What the action graph knows of this memory: its uses there, and their success rate. */
  evidence: { uses: number; rate: number } | undefined;
  /** 1…1.1, by the entities that the query and the memory share (content-graph.ts). */
  entities: number;
  /** The memory has solved this problem before (known-solutions.ts). */
  solved: "exactly" | "partly" | undefined;
  /** It stands in a collection that has answered questions with these concepts (routing.ts). */
  isRouted: boolean;
};

const NEW_BOOK_MS = 7 * 86_400_000;
const EVIDENCE_USES = 3;
/**
 * Gentler than the original's, which halves the distance of a solution: the eighth power makes that five times the worth, and one wrong
 * outcome is shown for good. Source: npm run bench:learning.
 */
const SOLVED = { exactly: 0.8, partly: 0.9 } as const;
const ROUTED = 0.99;
/** A success rate of 0 to 1 shrinks a distance by so much more or less than nothing. */
const EVIDENCE = { least: 0.9, range: 0.2 } as const;

/** The distance by which a memory is ranked: smaller for what there is reason to prefer. */
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
