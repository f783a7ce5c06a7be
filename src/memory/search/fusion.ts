/**
 * Fuses the lexical and the vector score of every candidate into one order. Pure; used by the engine's search. Source:
 * bench README, recipe 2 and 4: scores are fused, not ranks, and any weight from 0.4 to 0.6 does equally well.
 */
import type { LexicalParts } from "../port/search.ts";

export type RankMode = "hybrid" | "lexical" | "vector";

/** `cosine` −1…1, NaN while the drawer waits for its vector. */
export type Candidate = { row: number; words: LexicalParts; cosine: number };
/** `lexical`: the weighted sum of its words' parts; `lexicalShare`: that sum relative to the best candidate's. */
export type Ranked = Candidate & {
  lexical: number;
  lexicalShare: number;
  score: number;
  /** The cross-encoder's output, and place and score before it. */
  rerank?: { logit: number; place: number; score: number };
};

/** Weights of cosine and words in the score, and of pairs and source beside the drawer's own words. */
export const WEIGHTS = { cosine: 0.5, words: 0.5, pairs: 0.3, source: 0.3 } as const;

/** Returns best first; equal scores in row order. Mode vector leaves out candidates without a vector. */
export function fuse(candidates: readonly Candidate[], mode: RankMode): Ranked[] {
  const weighted = candidates.map((candidate) => ({ ...candidate, lexical: lexicalScore(candidate.words) }));
  const lexicalMax = weighted.reduce((max, { lexical }) => Math.max(max, lexical), 0);
  const score = (share: number, cosine: number): number => {
    if (mode === "vector") return cosine;
    if (mode === "lexical" || Number.isNaN(cosine)) return share;
    return WEIGHTS.cosine * cosine + WEIGHTS.words * share;
  };
  return weighted
    .map((candidate) => {
      const lexicalShare = lexicalMax > 0 ? candidate.lexical / lexicalMax : 0;
      return { ...candidate, lexicalShare, score: score(lexicalShare, candidate.cosine) };
    })
    .filter((ranked) => !Number.isNaN(ranked.score))
    .sort(byScore);
}

export function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || a.row - b.row;
}

export function lexicalScore({ drawer, pairs, source }: LexicalParts): number {
  return drawer + WEIGHTS.pairs * pairs + WEIGHTS.source * source;
}
