/**
 * Implements the rankings that ours is compared with, from their description (palace.md 6.1): plain BM25 as upstream
 * computes it, vectors alone, upstream's shipped search, and that search with its `union` option. They run over the
 * same drawers and vectors as ours. Closets are left out, because upstream makes none for a palace of documents. Pure;
 * used by quality.ts.
 */

/** `vector` is of the drawer's text, by the model that also embeds the question. */
export type RankedDrawer = { text: string; wing: string; source_file: string; vector: Float32Array };

const K1 = 1.5;
const B = 0.75;
const COSINE_WEIGHT = 0.6;
const WORDS_WEIGHT = 0.4;
/** The number of hits asked for. Any hit after these counts in upstream's favour. */
const LIMIT = 10;
const POOL = 3 * LIMIT;

type Ranking = (question: string, vector: Float32Array, drawers: readonly RankedDrawer[]) => RankedDrawer[];

export const UPSTREAM_RANKINGS: Readonly<Record<string, Ranking>> = {
  "plain BM25": (question, _vector, drawers) => best(drawers, bm25(question, drawers)),
  "vectors alone": (_question, vector, drawers) => best(drawers, cosines(vector, drawers)),
  "MemPalace, shipped, limit 10": (question, vector, drawers) => {
    const nearest = best(drawers, cosines(vector, drawers));
    return [...reranked(question, vector, nearest.slice(0, LIMIT)), ...nearest.slice(LIMIT)];
  },
  "MemPalace, union, limit 10": (question, vector, drawers) => {
    const nearest = best(drawers, cosines(vector, drawers)).slice(0, POOL);
    const worded = best(drawers, bm25(question, drawers)).slice(0, POOL);
    return reranked(question, vector, [...new Set([...nearest, ...worded])]);
  },
};

function reranked(question: string, vector: Float32Array, drawers: readonly RankedDrawer[]): RankedDrawer[] {
  const words = bm25(question, drawers);
  const wordsMax = Math.max(...words);
  const scores = cosines(vector, drawers).map(
    (cosine, at) =>
      COSINE_WEIGHT * Math.max(0, cosine) + (wordsMax > 0 ? (WORDS_WEIGHT * (words[at] ?? 0)) / wordsMax : 0),
  );
  return best(drawers, scores);
}

/** Scores by BM25; frequencies and lengths are those of the given drawers alone. */
function bm25(question: string, drawers: readonly RankedDrawer[]): number[] {
  const documents = drawers.map(({ text }) => tokensOf(text));
  const lengthMean = documents.reduce((sum, tokens) => sum + tokens.length, 0) / (drawers.length || 1) || 1;
  const counts = documents.map((tokens) => {
    const count = new Map<string, number>();
    for (const token of tokens) count.set(token, (count.get(token) ?? 0) + 1);
    return count;
  });
  const terms = [...new Set(tokensOf(question))].map((term) => {
    const holding = counts.filter((count) => count.has(term)).length;
    return { term, weight: Math.log((drawers.length - holding + 0.5) / (holding + 0.5) + 1) };
  });
  return counts.map((count, at) => {
    const length = 1 - B + (B * (documents[at]?.length ?? 0)) / lengthMean;
    return terms.reduce((sum, { term, weight }) => {
      const frequency = count.get(term) ?? 0;
      return sum + (weight * frequency * (K1 + 1)) / (frequency + K1 * length);
    }, 0);
  });
}

function tokensOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
}

function cosines(vector: Float32Array, drawers: readonly RankedDrawer[]): number[] {
  return drawers.map(({ vector: own }) => own.reduce((sum, value, at) => sum + value * (vector[at] as number), 0));
}

function best(drawers: readonly RankedDrawer[], scores: readonly number[]): RankedDrawer[] {
  return drawers
    .map((drawer, at) => ({ drawer, score: scores[at] ?? 0 }))
    .sort((a, b) => b.score - a.score)
    .map(({ drawer }) => drawer);
}
