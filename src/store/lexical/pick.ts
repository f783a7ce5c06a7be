/**
 * Which words of a query are enough to find the candidates. Pure; used by lexical-thread.ts. Ranking the rows of a
 * common word is what a BM25 query costs; every word still counts in the score of a candidate, so little is lost.
 */

/** A palace up to this size is asked for all words: the candidates are BM25's true first ones. */
export const EXACT_DRAWERS_MAX = 5_000;
/** Ranking this many rows costs a few milliseconds. */
const PICKED_ROWS_MIN = 3_000;
/** Of the rows that all words together would rank. */
const PICKED_SHARE = 0.3;

/** Shape: `frequencies[i]` documents hold word i; the result are indexes, the rarest first. */
export function pickWords(frequencies: readonly number[], documents: number): number[] {
  const known = frequencies.flatMap((frequency, index) => (frequency > 0 ? [index] : []));
  if (documents <= EXACT_DRAWERS_MAX) return known;
  const rarestFirst = known.sort((a, b) => (frequencies[a] as number) - (frequencies[b] as number));
  const total = frequencies.reduce((sum, frequency) => sum + frequency, 0);
  const rowsMax = Math.max(PICKED_ROWS_MIN, total * PICKED_SHARE);
  let rows = 0;
  return rarestFirst.filter((index, position) => {
    rows += frequencies[index] as number;
    return position === 0 || rows <= rowsMax;
  });
}
