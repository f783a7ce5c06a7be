/**
 * Both scores of every candidate become one order. Pure; used by the engine's search.
 * Source: bench README, recipe 2: scores are fused, not ranks, and any weight from 0.4 to 0.6 is as good.
 */

export type RankMode = "hybrid" | "lexical" | "vector";

/** `lexical` ≥ 0, 0 without a hit; `cosine` −1…1, NaN while the drawer waits for its vector. */
export type Candidate = { row: number; lexical: number; cosine: number };
export type Ranked = Candidate & { score: number };

const COSINE_WEIGHT = 0.5;

/** Best first; equal scores in row order. Candidates without a vector are left out of mode vector. */
export function fuse(candidates: readonly Candidate[], mode: RankMode): Ranked[] {
  const lexicalMax = candidates.reduce((max, { lexical }) => Math.max(max, lexical), 0);
  const score = ({ lexical, cosine }: Candidate): number => {
    if (mode === "vector") return cosine;
    const share = lexicalMax > 0 ? lexical / lexicalMax : 0;
    if (mode === "lexical" || Number.isNaN(cosine)) return share;
    return COSINE_WEIGHT * cosine + (1 - COSINE_WEIGHT) * share;
  };
  return candidates
    .map((candidate) => ({ ...candidate, score: score(candidate) }))
    .filter((ranked) => !Number.isNaN(ranked.score))
    .sort((a, b) => b.score - a.score || a.row - b.row);
}
