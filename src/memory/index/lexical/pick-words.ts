/**
 * Picks the words of a query that are enough to find the candidates. Pure; used by lexical-search.ts. A BM25 query
 * spends its time on ranking the rows of common words; every word still counts in the score of a candidate, so little
 * is lost.
 */

/** A palace up to this size is searched for all words: the candidates are then exactly BM25's first ones. */
export const EXACT_DRAWERS_MAX = 5_000;
/** Ranking this many rows costs a few milliseconds. */
const PICKED_ROWS_MIN = 3_000;
/** Share of the rows that all words together would rank. */
const PICKED_SHARE = 0.3;

/**
 * Shape: `frequencies[i]` documents hold word i; the result holds indexes. A word that no document holds costs nothing.
 */
export function pickWords(frequencies: readonly number[], documents: number): number[] {
  const all = frequencies.map((_, index) => index);
  if (documents <= EXACT_DRAWERS_MAX) return all;
  const frequency = (index: number): number => frequencies[index] ?? 0;
  const total = frequencies.reduce((sum, one) => sum + one, 0);
  const rowsMax = Math.max(PICKED_ROWS_MIN, total * PICKED_SHARE);
  let rows = 0;
  return all
    .sort((a, b) => frequency(a) - frequency(b))
    .filter((index) => {
      const first = rows === 0;
      if (!first && rows + frequency(index) > rowsMax) return false;
      rows += frequency(index);
      return true;
    });
}
