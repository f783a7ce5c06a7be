/**
 * Explains a hit's place: the parts of its score in plain fields. Pure; used by search.ts where `explain` is asked for.
 */
import { round } from "../text/text.ts";
import { confidenceOf } from "./confidence.ts";
import { type Ranked, WEIGHTS } from "./fusion.ts";

/** A factor that changed a score after it was computed, and the reason. */
export type Adjustment = { factor: number; reason: string };

export function explainScore(
  ranked: Ranked,
  adjustments: readonly Adjustment[],
  asked: "hybrid" | "lexical" | "vector",
): Record<string, unknown> {
  const { words, cosine, lexical, lexicalShare, score, rerank } = ranked;
  const hasVector = !Number.isNaN(cosine);
  const mode = hasVector ? asked : "lexical";
  const changes = adjustments.map(({ factor, reason }) => ({ factor: round(factor, 3), reason }));
  return {
    mode,
    score: round(score, 4),
    score_before: round(
      adjustments.reduce((value, { factor }) => value / factor, score),
      4,
    ),
    cosine: hasVector ? round(cosine, 4) : null,
    bm25: {
      drawer: round(words.drawer, 3),
      pairs: round(words.pairs, 3),
      source: round(words.source, 3),
      total: round(lexical, 3),
      share_of_best: round(lexicalShare, 4),
    },
    weights: {
      cosine: mode === "hybrid" ? WEIGHTS.cosine : mode === "vector" ? 1 : 0,
      words: mode === "hybrid" ? WEIGHTS.words : mode === "vector" ? 0 : 1,
      pairs: WEIGHTS.pairs,
      source: WEIGHTS.source,
    },
    // The cross-encoder only redistributes the scores among the first hits.
    ...(rerank !== undefined && {
      rerank: { logit: round(rerank.logit, 3), place_before: rerank.place, score_before: round(rerank.score, 4) },
    }),
    query_words_held: round(words.coverage, 3),
    confidence: round(confidenceOf(ranked), 3),
    promoted: changes.filter(({ factor }) => factor > 1),
    demoted: changes.filter(({ factor }) => factor < 1),
  };
}
