/** Explains a hit's rank by the parts of its score, for callers that pass `explain`. */
import { round } from "../text/text.ts";
import { confidenceOf } from "./confidence.ts";
import { ASIDE_FACTOR, PART_WEIGHTS, type Ranked, type RankMode, WEIGHTS } from "./fusion.ts";

export type Adjustment = { factor: number; reason: string };

export function explainScore(
  ranked: Ranked,
  adjustments: readonly Adjustment[],
  mode: RankMode,
): Record<string, unknown> {
  const { words, cosine, near, lexical, lexicalShare, score, fileScore, speakerFactor, wishScore, saidCosine, rerank } =
    ranked;
  const estimates = [
    ...(Number.isNaN(cosine) ? ["cosine"] : []),
    ...(Number.isNaN(words.meaning) ? ["static_cosine"] : []),
  ];
  const weights = WEIGHTS[mode];
  const changes = adjustments.map(({ factor, reason }) => ({ factor: round(factor, 3), reason }));
  return {
    mode,
    score: round(score, 4),
    score_before: round(
      adjustments.reduce((value, { factor }) => value / factor, score),
      4,
    ),
    cosine: weights.cosine > 0 ? round(near.cosine, 4) : null,
    static_cosine: weights.meaning > 0 ? round(near.meaning, 4) : null,
    // Names the cosines that were estimated from the other scores, because the palace does not have them yet.
    ...(estimates.length > 0 && mode === "hybrid" && { estimated: estimates }),
    identifiers_held: round(words.identifiers, 3),
    names_held: round(words.names, 3),
    file_score: round(fileScore, 4),
    ...(words.isAside === true && { side_file_factor: ASIDE_FACTOR }),
    ...(speakerFactor !== undefined && { assistant_factor: speakerFactor }),
    ...(wishScore !== undefined && { wish_score: round(wishScore, 4) }),
    ...(saidCosine !== undefined && { user_words_cosine: round(saidCosine, 4) }),
    bm25: {
      drawer: round(words.drawer, 3),
      pairs: round(words.pairs, 3),
      source: round(words.source, 3),
      total: round(lexical, 3),
      share_of_best: round(lexicalShare, 4),
    },
    weights: { ...weights, ...PART_WEIGHTS },
    ...(rerank !== undefined && {
      rerank: { logit: round(rerank.logit, 3), place_before: rerank.place, score_before: round(rerank.score, 4) },
    }),
    query_words_held: round(words.coverage, 3),
    ...(ranked.sentenceWeight !== undefined && { sentence_weight: round(ranked.sentenceWeight, 3) }),
    confidence: round(confidenceOf(ranked), 3),
    promoted: changes.filter(({ factor }) => factor > 1),
    demoted: changes.filter(({ factor }) => factor < 1),
  };
}
