/**
 * Cuts long words into parts of four letters, by which a question finds a compound (Umzug in Serverumzugsplanung). English hardly needs
 * parts, so an English text has none: they would enlarge the index by a third.
 */
import { cutWords, isPaired, isSpecial } from "./cut.ts";
import { foldText } from "./fold.ts";

const LETTERS = 4;
/** Minimum length of a Latin word that gets parts. */
const LATIN_MIN = 8;
/** Minimum length in other scripts, such as Cyrillic, whose words have more endings. */
const OTHER_MIN = 5;
/** Maximum length of a word that gets parts. Longer words are names and noise. */
const WORD_MAX = 40;
/** A text's word matches a question's word if it contains at least this share of the parts of the question's word. */
const SHARE_MIN = 0.5;
/** Prefix of a part in the index. It distinguishes a part from a word. */
const SIGN = "·";

const WORD = /\p{L}+/gu;
const IS_LATIN = /^\p{sc=Latin}/u;
const ENGLISH = /\b(?:the|and|that|with|this|are|from|have|has|been|you|your|can|which|when)\b/gi;
/** A text counts as English if a word of `ENGLISH` occurs, on average, at least once in this many characters. */
const ENGLISH_EVERY = 160;
/** Maximum share of characters other than letters in prose. A text with a larger share is code or a table. */
const SIGNS_MAX = 0.15;
const OTHER_SIGN = /[^\p{L}\p{M}\s]/gu;

/** Returns true for prose in a language other than English. */
function hasParts(text: string): boolean {
  let left = text.length;
  for (const _ of text.matchAll(ENGLISH)) if ((left -= ENGLISH_EVERY) <= 0) return false;
  return (text.match(OTHER_SIGN)?.length ?? 0) <= text.length * SIGNS_MAX;
}

/** Returns the words that are long enough to have parts, without accents. */
function longWords(text: string): string[] {
  const words = isSpecial(text)
    ? cutWords(text, false).flatMap(({ forms: [own = "", plain = own] }) => plain.match(WORD) ?? [])
    : (foldText(text).match(WORD) ?? []);
  return words.filter(
    (word) =>
      word.length >= (IS_LATIN.test(word) ? LATIN_MIN : OTHER_MIN) && word.length <= WORD_MAX && !isPaired(word),
  );
}

function cut(word: string): string[] {
  return Array.from({ length: Math.max(0, word.length - LETTERS + 1) }, (_, at) => word.slice(at, at + LETTERS));
}

/** Returns the parts that the index stores for a text, each once. */
export function indexedParts(text: string): string[] {
  if (!hasParts(text)) return [];
  return [...new Set(longWords(text).flatMap(cut))].map((part) => SIGN + part);
}

/** Returns the parts of a question's word as the index stores them; none for a short word. */
export function askedParts([own = "", plain = own]: readonly string[]): string[] {
  const isWord = plain.length <= WORD_MAX && !isPaired(plain) && !/\P{L}/u.test(plain);
  return isWord ? [...new Set(cut(plain))].map((part) => SIGN + part) : [];
}

/** Returns a function that finds, for each term, the largest share of the term's parts in one word. `asked[i]`: parts of term i. */
export function partCounter(asked: readonly (readonly string[])[]): (text: string) => number[] {
  const termsOf = new Map<string, number[]>();
  asked.forEach((parts, term) => {
    for (const part of parts)
      termsOf.set(part.slice(SIGN.length), [...(termsOf.get(part.slice(SIGN.length)) ?? []), term]);
  });
  const known = new Map<string, ReadonlyMap<number, number>>();
  const sharesOf = (word: string): ReadonlyMap<number, number> => {
    const shares = new Map<number, number>();
    for (const part of new Set(cut(word)))
      for (const term of termsOf.get(part) ?? [])
        shares.set(term, (shares.get(term) ?? 0) + 1 / (asked[term] as readonly string[]).length);
    return shares;
  };
  return (text) => {
    const best = asked.map(() => 0);
    if (termsOf.size === 0 || !hasParts(text)) return best;
    for (const word of longWords(text)) {
      const shares = known.get(word) ?? sharesOf(word);
      known.set(word, shares);
      for (const [term, share] of shares) if (share >= SHARE_MIN) best[term] = Math.max(best[term] ?? 0, share);
    }
    return best;
  };
}
