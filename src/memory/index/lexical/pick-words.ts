/** Picks the words of a query that suffice to find candidates, because most of BM25's time goes into the rows of common words. */

/** Maximum number of drawers for which a search uses all words. The candidates are then exactly BM25's best. */
export const EXACT_DRAWERS_MAX = 5_000;
/** Number of rows that may always be ranked, because that takes only a few milliseconds. */
const PICKED_ROWS_MIN = 3_000;
/** Maximum number of rows to rank, as a share of the sum of all words' frequencies. */
const PICKED_SHARE = 0.3;

/** Returns the indexes of the words to search for. `frequencies[i]`: number of documents with word i. */
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
