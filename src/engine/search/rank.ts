/**
 * Both scores of every candidate become one order. Pure; used by the engine's search.
 * Source: bench README, recipe 2 and 4: scores are fused, not ranks, and any weight from 0.4 to 0.6 is as good.
 */
import type { LexicalParts } from "../../port/search.ts";

export type RankMode = "hybrid" | "lexical" | "vector";

/** `cosine` −1…1, NaN while the drawer waits for its vector. */
export type Candidate = { row: number; words: LexicalParts; cosine: number };
/** `lexical`: its words' parts by their weights; `lexicalShare`: of the best candidate's. */
export type Ranked = Candidate & {
  lexical: number;
  lexicalShare: number;
  score: number;
  /** What the cross-encoder said, and the place and score before it. */
  rerank?: { logit: number; place: number; score: number };
};

/** Of cosine and words in the score, and of pairs and source beside the words of the drawer itself. */
export const WEIGHTS = { cosine: 0.5, words: 0.5, pairs: 0.3, source: 0.3 } as const;

/** Best first; equal scores in row order. Candidates without a vector are left out of mode vector. */
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
