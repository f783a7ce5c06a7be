/** Which of the found are about the question at all, before outcomes put them in order. Pure; the original has no such bound. */

/**
 * How much less like the question than the most alike memory another may be, and how much less of its words it may hold, to be ranked
 * at all: what is about something else is not shown because nothing better is there. Source: npm run bench:learning, where a bound
 * of 0.2 costs what is shown for a question, and one of 0.3 does not.
 */
const COSINE_BELOW_BEST = 0.3;
const WORDS_OF_BEST = 0.8;

/** `cosine`: NaN where it is not known; `words`: the score of its words, 0 where the words did not find it. */
export type Likeness = { cosine: number; words: number };

/** Those of the found that are about the question. */
export function alike<F extends Likeness>(found: readonly F[]): F[] {
  const nearest = found.reduce((max, { cosine }) => (cosine > max ? cosine : max), -1);
  const most = found.reduce((max, { words }) => Math.max(max, words), 0);
  return found.filter(
    ({ cosine, words }) =>
      Number.isNaN(cosine) || cosine >= nearest - COSINE_BELOW_BEST || (words > 0 && words >= WORDS_OF_BEST * most),
  );
}
