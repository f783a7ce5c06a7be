/**
 * The formulas of BM25, higher is better. Pure; used by lexical-search.ts to score rows that FTS5 did not rank. The formulas equal FTS5's
 * bm25() except for words in more than half of the documents: FTS5 gives these words no weight, this file a small one. Otherwise the names
 * of two people in a conversation would not distinguish their drawers (+0.3 R@5 on LoCoMo). FTS5 also cannot rank by word pairs and
 * sources, and cannot score a row that only its vector has found (+1.7 R@1, docs/lab/search-recipe.md).
 */
const K1 = 1.2;
const B = 0.75;

export function inverseFrequency(documents: number, holding: number): number {
  return Math.log(1 + (documents - holding + 0.5) / (holding + 0.5));
}

/** Returns the score of one term or phrase in one document. `length`: the document's length relative to the average. */
export function scoreTerm(inverse: number, frequency: number, length: number): number {
  return (inverse * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + B * length));
}
