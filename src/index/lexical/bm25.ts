/**
 * The numbers of BM25, higher is better. Pure; used by lexical-thread.ts to score rows that FTS5 did not rank.
 * As FTS5's own bm25() but for the weight of a frequent word: FTS5 gives a word of more than half of the documents
 * nothing, we give it little, so that the names of two people who talk still tell their drawers apart (+0.3 R@5).
 */
const K1 = 1.2;
const B = 0.75;

export function inverseFrequency(documents: number, holding: number): number {
  return Math.log(1 + (documents - holding + 0.5) / (holding + 0.5));
}

/** `frequency` of one term or phrase in one document; `length` of that document, relative to the average one. */
export function scoreTerm(inverse: number, frequency: number, length: number): number {
  return (inverse * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + B * length));
}
