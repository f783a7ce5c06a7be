/**
 * Fuses the scores of every candidate into one order: its words, its static vector, the model's vector, and the question's
 * identifiers that it holds. Pure; used by the engine's search. Source: docs/lab/search-recipe.md, recipe and static vectors: scores
 * are fused, not ranks, and weights a tenth higher or lower do equally well.
 */
import type { LexicalParts } from "../port/search.ts";

/** `hybrid`: all three; `static`: words and static vectors; the others one alone. */
export type RankMode = "hybrid" | "static" | "lexical" | "vector";

/** `cosine` −1…1, NaN while the drawer waits for the model's vector. */
export type Candidate = { row: number; words: LexicalParts; cosine: number };
/**
 * `lexical`: the weighted sum of its words' parts; `lexicalShare`: that sum relative to the best candidate's; `near`: what
 * counts as its cosines, estimated where one is missing.
 */
export type Ranked = Candidate & {
  lexical: number;
  lexicalShare: number;
  near: { cosine: number; meaning: number };
  score: number;
  /** The cross-encoder's output, and place and score before it. */
  rerank?: { logit: number; place: number; score: number };
};

/** Weights of cosine, static cosine and words in the score of each mode. */
export const WEIGHTS = {
  hybrid: { cosine: 0.36, meaning: 0.28, words: 0.36 },
  static: { cosine: 0, meaning: 0.58, words: 0.42 },
  lexical: { cosine: 0, meaning: 0, words: 1 },
  vector: { cosine: 1, meaning: 0, words: 0 },
} as const satisfies Record<RankMode, object>;
/** Weights beside the drawer's own words, and what all of the question's identifiers add to a score. */
export const PART_WEIGHTS = { pairs: 0.3, source: 0.3, identifiers: 0.2 } as const;

/** A drawer without any of the question's words and with a smaller static cosine has nothing to do with it. */
const MEANING_MIN = 0.15;

/**
 * Returns best first; equal scores in row order. Mode vector leaves out candidates without a vector, mode static those that are
 * far from the question in words and meaning.
 */
export function fuse(candidates: readonly Candidate[], mode: RankMode): Ranked[] {
  const weighted = candidates.map((candidate) => ({ ...candidate, lexical: lexicalScore(candidate.words) }));
  const lexicalMax = weighted.reduce((max, { lexical }) => Math.max(max, lexical), 0);
  const weights = WEIGHTS[mode];
  return weighted
    .filter(({ cosine, words, lexical }) => {
      if (mode === "static") return lexical > 0 || words.meaning >= MEANING_MIN;
      return mode !== "vector" || !Number.isNaN(cosine);
    })
    .map((candidate) => {
      const lexicalShare = lexicalMax > 0 ? candidate.lexical / lexicalMax : 0;
      const near = estimated(candidate, lexicalShare);
      const named = mode === "vector" ? 0 : PART_WEIGHTS.identifiers * candidate.words.identifiers;
      const score =
        weights.cosine * near.cosine + weights.meaning * near.meaning + weights.words * lexicalShare + named;
      return { ...candidate, lexicalShare, near, score };
    })
    .sort(byScore);
}

/**
 * Fills in the cosine that a drawer still waits for, from what it has: so its place is nearly the one it will have. Source:
 * linear fits over 134,646 pairs of question and drawer of LoCoMo's development half.
 */
function estimated({ cosine, words }: Candidate, share: number): Ranked["near"] {
  const hasModel = !Number.isNaN(cosine);
  const known = words.meaning;
  const meaning = !Number.isNaN(known) ? known : hasModel ? 0.05 + 0.57 * cosine : 0.17 + 0.23 * share;
  return { cosine: hasModel ? cosine : 0.12 + 0.65 * meaning + 0.05 * share, meaning };
}

export function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || a.row - b.row;
}

export function lexicalScore({ drawer, pairs, source }: LexicalParts): number {
  return drawer + PART_WEIGHTS.pairs * pairs + PART_WEIGHTS.source * source;
}
