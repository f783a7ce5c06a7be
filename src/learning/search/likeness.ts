/** Decides which memories are about the question, and which of them a turn shows. Pure; Roampal has no such bounds. */

/**
 * Bounds relative to the best memory: how much lower the cosine may be, and the least share of the words' score. A memory below both is
 * not ranked, so that an unrelated memory is not shown for lack of a better one. Source: npm run bench:learning: a bound of 0.2 for the
 * cosine loses memories that were shown for a question, 0.3 does not.
 */
const COSINE_BELOW_BEST = 0.3;
const WORDS_OF_BEST = 0.8;

/** Likeness to the question. `cosine`: NaN if unknown; `words`: score of the words, 0 if the words did not find it. */
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
 * Minimum cosine of a memory that is shown unasked; a text below it is about something else. 99 of 100 questions of LoCoMo have 0.17 or
 * more with the text that answers them.
 */
const COSINE_LEAST = 0.12;

type Showable = Likeness & { text: string; solved: unknown };

/** Chooses the memories of a turn, best first: four that are about the prompt or answered it before, each text once. */
export function bestOf<F extends Showable>(found: readonly F[]): F[] {
  const texts = new Set<string>();
  const shown = found.filter(({ cosine, text, solved }) => {
    const words = text.trim();
    const isNew = words !== "" && !texts.has(words);
    // False for NaN: a memory without a vector was found by its words, so it may be shown.
    const isUnlike = solved === undefined && cosine < COSINE_LEAST;
    if (isNew && !isUnlike) texts.add(words);
    return isNew && !isUnlike;
  });
  return shown.slice(0, SLOTS);
}
