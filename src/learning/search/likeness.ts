/** Decides which memories are about the question, and which of them a turn shows. Pure; Roampal has no such bounds. */

/**
 * Limits relative to the best memory: the maximum difference of the cosine, and the minimum share of its score by words. A memory outside
 * both limits is not ranked, so that an unrelated memory is not shown only because no better one exists. Source: npm run bench:learning.
 * With 0.2 for the cosine, memories that were shown for a question are lost; with 0.3 they are not.
 */
const COSINE_BELOW_BEST = 0.3;
const WORDS_OF_BEST = 0.8;

/** Likeness to the question. `cosine`: NaN if unknown. `words`: score of the search by words; 0 if that search did not find the memory. */
export type Likeness = { cosine: number; words: number };

/** Returns the memories that are about the question. */
export function alike<F extends Likeness>(found: readonly F[]): F[] {
  const nearest = found.reduce((max, { cosine }) => (cosine > max ? cosine : max), -1);
  const most = found.reduce((max, { words }) => Math.max(max, words), 0);
  return found.filter(
    ({ cosine, words }) =>
      Number.isNaN(cosine) || cosine >= nearest - COSINE_BELOW_BEST || (words > 0 && words >= WORDS_OF_BEST * most),
  );
}

/** Maximum number of memories that a turn shows. */
const SLOTS = 4;
/**
 * Minimum cosine of a memory that is shown unasked; a text below it is about something else. In 99 of 100 questions of LoCoMo, a
 * benchmark, the cosine with the answering text is at least 0.17.
 */
const COSINE_LEAST = 0.12;

type Showable = Likeness & { text: string; solved: unknown };

/** Chooses the memories of a turn, best first: four that are about the prompt or answered it before, each text once. */
export function bestOf<F extends Showable>(found: readonly F[]): F[] {
  const texts = new Set<string>();
  const shown = found.filter(({ cosine, text, solved }) => {
    const words = text.trim();
    const isNew = words !== "" && !texts.has(words);
    // A memory without a vector has the cosine NaN, so this test is false. The memory was found by its words and may be shown.
    const isUnlike = solved === undefined && cosine < COSINE_LEAST;
    if (isNew && !isUnlike) texts.add(words);
    return isNew && !isUnlike;
  });
  return shown.slice(0, SLOTS);
}
