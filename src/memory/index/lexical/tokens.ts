/** Splits text into words as FTS5's `porter unicode61` does, and counts a query's words in texts. */
import { cutWords, firstOfPair, hasEmoji, hasSpecialLetter, isSpecial, wholeWords } from "./cut.ts";
import { foldText } from "./fold.ts";
import { indexedParts, partCounter } from "./parts.ts";
import { stem } from "./stem.ts";

const WORD = /[\p{L}\p{N}\p{Co}]+/gu;
const WORD_CHARACTER = /[\p{L}\p{N}\p{Co}]/u;
const TWO_MARKS = /\p{Mn}\p{Mn}/u;
const REST_OF_WORD = /[\p{L}\p{N}\p{Co}]+/uy;

/** Returns the words of a lower-case text, in order. */
export function splitWords(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Returns all forms of a text's words, not stemmed. */
export function wordForms(text: string): string[] {
  return isSpecial(text) ? cutWords(text, false).flatMap(({ forms }) => forms) : splitWords(foldText(text));
}

/** Returns the words of a text for the index `form_fts`: other forms, stemmed, and parts of long words. */
export function formsOf(text: string): string {
  return [...otherForms(text), ...indexedParts(text)].join(" ");
}

function otherForms(text: string): string[] {
  if (!isSpecial(text)) return [];
  // FTS5 folds neither ligatures nor full-width letters, nor a letter with two marks.
  const folded = splitWords(text.toLowerCase().normalize("NFC")).filter(
    (word) => !TWO_MARKS.test(word.normalize("NFD")),
  );
  const inFts5 = new Set(folded.map(foldText));
  const forms = cutWords(text, false).flatMap(({ forms: [own = "", ...others], isOwn }) =>
    isOwn || !inFts5.has(own) ? [own, ...others] : others,
  );
  return forms.map(stem);
}

/** Number of times that each term, and each pair of successive terms, is in a text. */
export type Counts = { terms: number[]; pairs: number[] };
export type CountTerms = (text: string) => Counts;
type Pairs = readonly (readonly [number, number])[];

/** Returns a function that counts terms. `terms[i]` has the stems of term i. `pairs` are pairs of indexes into `terms`. */
export function termCounter(terms: readonly (readonly string[])[], pairs: Pairs): CountTerms {
  if (terms.length === 0) return () => ({ terms: [], pairs: [] });
  const byStem = new Map(terms.flatMap((stems, at) => stems.map((one) => [one, at] as const)).toReversed());
  const asksEmoji = [...byStem.keys()].some(hasEmoji);
  const [plain, special] = [plainFinder(byStem), specialFinder(byStem)];
  return (text) => {
    const counts: Counts = { terms: terms.map(() => 0), pairs: pairs.map(() => 0) };
    let last = -1;
    const isCut = hasSpecialLetter(text) || (asksEmoji && hasEmoji(text));
    (isCut ? special : plain)(text, (term, isNext) => {
      counts.terms[term] = (counts.terms[term] ?? 0) + 1;
      const pair = isNext ? pairs.findIndex(([first, second]) => first === last && second === term) : -1;
      if (pair >= 0) counts.pairs[pair] = (counts.pairs[pair] ?? 0) + 1;
      last = term;
    });
    return counts;
  };
}

/** Calls `found` for each of the query's terms in a text. `isNext` is true if the word directly before it is a term, too. */
type FindTerms = (text: string, found: (term: number, isNext: boolean) => void) => void;

function plainFinder(byStem: ReadonlyMap<string, number>): FindTerms {
  // A stem differs from its words at most in its last letter (party, parti; hoping, hope), so all of them begin with the shortened stem.
  const starts = new Set([...byStem.keys()].map((term) => (term.length > 1 ? term.slice(0, -1) : term)));
  const wanted = new RegExp([...starts].join("|"), "g");
  const termOf = memoize((word) => byStem.get(stem(word)));
  return (text, found) => {
    const folded = foldText(text);
    let end = -1;
    for (const { index } of folded.matchAll(wanted)) {
      if (index > 0 && WORD_CHARACTER.test(characterBefore(folded, index))) continue;
      REST_OF_WORD.lastIndex = index;
      const word = REST_OF_WORD.exec(folded)?.[0] ?? "";
      const term = termOf(word);
      if (term === undefined) continue;
      found(term, end >= 0 && !WORD_CHARACTER.test(folded.slice(end, index)));
      end = index + word.length;
    }
  };
}

function specialFinder(byStem: ReadonlyMap<string, number>): FindTerms {
  const termOf = (form: string): number | undefined => byStem.get(stem(form)) ?? byStem.get(firstOfPair(form) ?? "");
  // Remembers results, because most words of a text occur in the next text, too.
  const termsOf = memoize((word) =>
    cutWords(word, false).map(({ forms }) => forms.map(termOf).find((term) => term !== undefined)),
  );
  return (text, found) => {
    let isNext = false;
    for (const word of wholeWords(text))
      for (const term of termsOf(word)) {
        if (term !== undefined) found(term, isNext);
        isNext = term !== undefined;
      }
  };
}

/** A drawer to count terms in. `hasForms` is 1 if it has a row in `form_fts`. */
export type CountedDrawer = { text: string; dateWords: string; headings: string; hasForms: number };

/** Count of a term that occurs only as a part of a longer word. */
const IN_PARTS = 0.5;

/** Returns a function that counts terms and pairs in a drawer's text, date and headings. */
export function drawerCounter(asked: {
  stems: readonly (readonly string[])[];
  parts: readonly (readonly string[])[];
  pairs: Pairs;
}): (drawer: CountedDrawer) => Counts {
  const [count, countParts] = [termCounter(asked.stems, asked.pairs), partCounter(asked.parts)];
  return ({ text, dateWords, headings, hasForms }) => {
    const counts = [dateWords, headings].map(count).reduce(addCounts, count(text));
    if (hasForms === 0 || !counts.terms.includes(0)) return counts;
    const shares = countParts(text);
    return { ...counts, terms: counts.terms.map((times, at) => times || IN_PARTS * (shares[at] ?? 0)) };
  };
}

export function addCounts(one: Counts, other: Counts): Counts {
  const add = (to: number[], more: number[]): number[] => to.map((times, at) => times + (more[at] ?? 0));
  return { terms: add(one.terms, other.terms), pairs: add(one.pairs, other.pairs) };
}

/** Returns the code point before `index`, which may be a surrogate pair. */
function characterBefore(text: string, index: number): string {
  const low = text.charCodeAt(index - 1);
  return text.slice(index - (low >= 0xdc00 && low <= 0xdfff ? 2 : 1), index);
}

export function memoize<T>(compute: (word: string) => T): (word: string) => T {
  const known = new Map<string, T>();
  return (word) => {
    if (!known.has(word)) known.set(word, compute(word));
    return known.get(word) as T;
  };
}
