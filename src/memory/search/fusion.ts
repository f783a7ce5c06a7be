/** Combines the scores of each candidate (docs/lab/search-recipe.md). Weights that are a tenth higher or lower do equally well. */
import type { LexicalParts } from "../port/search.ts";

export type RankMode = "hybrid" | "static" | "lexical" | "vector";

/** A row with its scores. `cosine`: the cosine of the model's vectors, −1…1; NaN for a drawer that has no such vector yet. */
export type Candidate = { row: number; words: LexicalParts; cosine: number };
/**
 * A candidate with the scores that decide its rank. `lexical`: the weighted sum of the candidate's word scores; `lexicalShare`: this sum
 * relative to the best candidate's; `near`: its two cosines, estimated if missing.
 */
export type Ranked = Candidate & {
  lexical: number;
  lexicalShare: number;
  near: { cosine: number; meaning: number };
  score: number;
  /** If a sentence of a long prompt found the drawer: the weight of this sentence in the confidence, 0…1; 1 for a question. */
  sentenceWeight?: number;
  /** Amount added to the score of the best drawer of a file that the question names. */
  fileScore: number;
  /** Factor on the score of a drawer in which only the assistant speaks. */
  speakerFactor?: number;
  /** Amount added to the score of a drawer with a wish of the user (wishes.ts), to move it up. */
  wishScore?: number;
  /** Static cosine of the user's words in the drawer's exchange. Only for a question about everything (asks.ts). */
  saidCosine?: number | undefined;
  /** The cross-encoder's output, and the drawer's rank and score before the reranking. */
  rerank?: { logit: number; place: number; score: number };
};

/** Weights of the model's cosine, the static cosine and the words in the score of each mode. */
export const WEIGHTS = {
  hybrid: { cosine: 0.36, meaning: 0.28, words: 0.36 },
  static: { cosine: 0, meaning: 0.58, words: 0.42 },
  lexical: { cosine: 0, meaning: 0, words: 1 },
  vector: { cosine: 1, meaning: 0, words: 0 },
} as const satisfies Record<RankMode, object>;
/**
 * Weights of the parts of a word score. `pairs`, `source`: weights relative to the drawer's own words. `identifiers`: amount added for a
 * drawer with all identifiers of the question. `names`: amount added if path, wing and room have all words of the question.
 */
export const PART_WEIGHTS = { pairs: 0.3, source: 0.3, identifiers: 0.2, names: 0.3 } as const;
/** Amount by which the best drawer of a named file surpasses all other scores, if no other file has that name. */
const FILE_MARGIN = 0.1;

/** Factor on the score of changelogs, licences, lockfiles and generated files, unless asked for (docs/lab/figures.md, kinds of files). */
export const ASIDE_FACTOR = 0.87;

/** Minimum static cosine of a hit with none of the question's words, in the mode `static` (without the model's vectors). */
const MEANING_MIN = 0.15;

/** Returns the candidates, best first; equal scores in row order. */
export function fuse(candidates: readonly Candidate[], mode: RankMode, meaningMin = MEANING_MIN): Ranked[] {
  const weighted = candidates.map((candidate) => ({ ...candidate, lexical: lexicalScore(candidate.words) }));
  const lexicalMax = weighted.reduce((max, { lexical }) => Math.max(max, lexical), 0);
  const weights = WEIGHTS[mode];
  const ranked = weighted
    .filter(({ cosine, words, lexical }) => {
      if (mode === "static") return lexical > 0 || words.names > 0 || words.meaning >= meaningMin;
      return mode !== "vector" || !Number.isNaN(cosine);
    })
    .map((candidate) => {
      const lexicalShare = lexicalMax > 0 ? candidate.lexical / lexicalMax : 0;
      const near = estimated(candidate, lexicalShare);
      const { identifiers, names } = candidate.words;
      const named = mode === "vector" ? 0 : PART_WEIGHTS.identifiers * identifiers + PART_WEIGHTS.names * names;
      const sum = weights.cosine * near.cosine + weights.meaning * near.meaning + weights.words * lexicalShare + named;
      const score = mode !== "vector" && candidate.words.isAside === true ? sum * ASIDE_FACTOR : sum;
      return { ...candidate, lexicalShare, near, score, fileScore: 0 };
    })
    .sort(byScore);
  return mode === "vector" ? ranked : withNamedFile(ranked);
}

/** Moves the best drawer of a named file up. The file's other drawers keep their ranks, so that notes about the file come next. */
function withNamedFile(ranked: readonly Ranked[]): Ranked[] {
  const top = (ranked[0]?.score ?? 0) + FILE_MARGIN;
  const [lifted] = ranked
    .filter(({ words }) => words.file > 0)
    .map((one) => ({ ...one, fileScore: one.words.file * (top - one.score) }))
    .map((one) => ({ ...one, score: one.score + one.fileScore }))
    .sort(byScore);
  if (lifted === undefined) return [...ranked];
  return ranked.map((one) => (one.row === lifted.row ? lifted : one)).sort(byScore);
}

/**
 * Estimates a drawer's missing cosines from its other scores, so that it ranks nearly as it will with its vector. Source: linear fits over
 * 134,646 pairs of a question and a drawer from LoCoMo's development half.
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
