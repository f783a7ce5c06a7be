/** Decides which memories are about the question, and which of them a turn shows. Pure. Roampal has no such limits. */

/**
 * A memory counts as similar if its cosine is at most this much below the best cosine, or its words' score is at least this share of the
 * best score. Measured with npm run bench:learning: a cosine limit of 0.2 loses relevant memories.
 */
const COSINE_BELOW_BEST = 0.3;
const WORDS_OF_BEST = 0.8;

/** Likeness to the question. `cosine`: NaN if unknown. `words`: score of the search by words, 0 if it did not find the memory. */
export type Likeness = { cosine: number; words: number };

export function alike<F extends Likeness>(found: readonly F[]): F[] {
  const nearest = found.reduce((max, { cosine }) => (cosine > max ? cosine : max), -1);
  const most = found.reduce((max, { words }) => Math.max(max, words), 0);
  return found.filter(
    ({ cosine, words }) =>
      Number.isNaN(cosine) || cosine >= nearest - COSINE_BELOW_BEST || (words > 0 && words >= WORDS_OF_BEST * most),
  );
}

/** Maximum number of memories that a turn shows besides the permanent facts. */
const SLOTS = 4;
/** Minimum cosine of a memory that a turn shows. In 99 % of LoCoMo's questions, the answering text has at least 0.17. */
const COSINE_LEAST = 0.12;

type Showable = Likeness & { text: string; solved: unknown };

/** Chooses the memories of a turn, best first: at most four, each text once, all about the prompt or known as its solution. */
export function bestOf<F extends Showable>(found: readonly F[]): F[] {
  const texts = new Set<string>();
  const shown = found.filter(({ cosine, text, solved }) => {
    const words = text.trim();
    const isNew = words !== "" && !texts.has(words);
    // The cosine is NaN without a vector, so this is false: the memory was found by its words and may be shown.
    const isUnlike = solved === undefined && cosine < COSINE_LEAST;
    if (isNew && !isUnlike) texts.add(words);
    return isNew && !isUnlike;
  });
  return shown.slice(0, SLOTS);
}
