/** Finds words that look like names of people, projects and products, by the rules of the palace's MemPalace version (palace.md 4.9). */
import type { IdRecipe } from "../port/drawer.ts";
import { codePointLength, compareText, head, wholeWord } from "../text/text.ts";
import { COMMON_WORDS } from "./common-words.ts";
import { nameFinders } from "./name-languages.ts";
import { takeProducts } from "./product-names.ts";

/** Matches a whole word. As in Python's `\w`, `É` is a letter, which JavaScript's `\b` does not notice. */
const CANDIDATE = /\b(?<![\p{L}\p{N}_])[A-Z][a-z][A-Za-z]*\b(?![\p{L}\p{N}_])/gu;
/** Matches runs that are longer than any name: base64, addresses, minified code. */
const LONG_RUN = /(?<![!-~])[!-~]{24,}/g;
/**
 * Matches the words that upstream's `[A-Z][a-z]+(?:[A-Z][a-z]+|[A-Z]{2,})+|[A-Z][a-z]{1,19}` matches as a whole. That pattern tries every
 * division of a run of capitals, which takes hours if a digit follows a long run; this one can match a word in only one way.
 */
const NAME = /^[A-Z][a-z]+(?:(?:(?:[A-Z]|[A-Z]{3,})[a-z]+)+(?:[A-Z]{2,})?|[A-Z]{2,})$|^[A-Z][a-z]{1,19}$/;

const STOP_WORDS: ReadonlySet<string> = new Set(
  `The This That These Those When Where What Why Who Which How After Before Then Now Here There And But Or Yet So If Else
  Yes No Maybe Okay User Assistant System Tool Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February
  March April May June July August September October November December`.split(/\s+/),
);

const WINDOW = 5_000;
const NAMES_MIN = 2;
const TAGS_MAX = 25;

/** Rules for finding names. `recipe`: selects MemPalace's version; `languages`: upstream's codes, English by default. */
export type Tagging = { recipe: IdRecipe; known?: readonly KnownName[]; languages?: readonly string[] };

/** Returns names that occur at least twice at the text's beginning, with counts: products first, then by first occurrence. */
export function nameWords(text: string, { recipe, languages = [] }: Tagging): [name: string, count: number][] {
  const window = head(text, WINDOW);
  const { rest, counts: products } = recipe === "v3" ? takeProducts(window) : { rest: window, counts: [] };
  const counts = new Map<string, number>(products);
  const words = recipe === "v3" ? rest.replace(LONG_RUN, " ") : rest;
  for (const finder of nameFinders(languages, candidateWords))
    for (const word of finder(words))
      if (!STOP_WORDS.has(word) && !COMMON_WORDS.has(word.toLowerCase())) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= NAMES_MIN);
}

/** Yields the words that have the form of a name, even if they are common English words, once for each occurrence. */
export function* candidateWords(text: string): Generator<string> {
  for (const [word] of text.matchAll(CANDIDATE)) if (NAME.test(word)) yield word;
}

/** Returns a row's `entities`: names of three or more characters and `known` names, sorted by code point and joined by `;`. */
export function nameTags(text: string, tagging: Tagging): string {
  const { known = [] } = tagging;
  const names = nameWords(text, tagging)
    .map(([name]) => name)
    .filter((name) => codePointLength(name) > 2);
  const named = known.filter(({ pattern }) => pattern.test(text)).map(({ name }) => name);
  return [...new Set([...names, ...named])].sort(compareText).slice(0, TAGS_MAX).join(";");
}

/** A name that the user has registered with MemPalace, and the pattern that finds it. */
export type KnownName = { name: string; pattern: RegExp };

export function knownNames(names: readonly string[]): KnownName[] {
  return names.map((name) => ({ name, pattern: wholeWord(name) }));
}
