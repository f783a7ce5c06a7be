/** Parses a search query into terms, pairs and FTS5 MATCH strings (docs/lab/search-recipe.md, the recipe, items 3 and 4). */
import { cutWords, isLoneLetter, isSpecial } from "./cut.ts";
import { foldText } from "./fold.ts";
import { identifiersOf } from "./identifiers.ts";
import { askedParts } from "./parts.ts";
import { stem } from "./stem.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { splitWords } from "./tokens.ts";

/** Maximum number of words of a question that are used. Further words cost time and add no meaning. */
const WORDS_MAX = 64;
const CHARACTERS_MAX = 20_000;
const WORD_CHARACTER = /[\p{L}\p{N}\p{Co}]/u;

/** A parsed query. `query`: as asked, at most 20,000 characters. The lists from `words` to `parts` have an entry for each term. */
export type ParsedQuery = {
  query: string;
  /** True if FTS5 cuts and folds all words as people search for them (cut.ts). */
  isPlain: boolean;
  identifiers: string[];
  /** Words as asked, or pairs of letters in scripts without blanks (cut.ts). */
  words: string[];
  /** Stems of the words, each once, in the order of the query. */
  terms: string[];
  /** Forms of the word to search for with MATCH. FTS5 folds and stems them itself. */
  forms: string[][];
  /** Stems of the term's forms; the first is the term itself. A text contains the term if it contains one of these stems. */
  stems: string[][];
  /** Parts of four letters of the word. */
  parts: string[][];
  /** Pairs of terms that follow each other in the query, as indexes into the other lists. */
  pairs: [number, number][];
};

type Word = { whole: string; word: string; forms: string[] };

function wordsOf(plain: string, isPlain: boolean): Word[] {
  if (isPlain) return splitWords(plain).map((word) => ({ whole: word, word, forms: [foldText(word)] }));
  return cutWords(plain, true).map(({ whole, forms }) => ({ whole, word: forms[0] as string, forms }));
}

export function parseQuery(asked: string): ParsedQuery {
  const query = asked.slice(0, CHARACTERS_MAX).toWellFormed();
  const plain = query
    .toLowerCase()
    .normalize("NFC")
    .replace(/['’]s(?![\p{L}\p{N}])/gu, "")
    .replace(/['’]/g, "");
  const isPlain = !isSpecial(plain);
  const all = wordsOf(plain, isPlain);
  const telling = all.filter(({ word }) => !STOP_WORDS.has(word));
  const kept = (telling.length > 0 ? telling : all).slice(0, WORDS_MAX);

  const indexOf = new Map<string, number>();
  const words: string[] = [];
  const forms: string[][] = [];
  const stems: string[][] = [];
  const parts: string[][] = [];
  const order = kept.map(({ whole, word, forms: asForms }) => {
    const asStems = [...new Set(asForms.map(stem))];
    const term = asStems[0] as string;
    const known = indexOf.get(term);
    if (known !== undefined) return known;
    indexOf.set(term, words.length);
    // Searches for the whole word, too, because some drawers' forms are not indexed yet.
    const ways = new Map([whole, ...asForms].map((form) => [foldText(form), form]).reverse() as [string, string][]);
    forms.push([...ways.values()].filter((form) => WORD_CHARACTER.test(form)).reverse());
    stems.push(asStems);
    parts.push(askedParts(asForms));
    return words.push(word) - 1;
  });
  const pairs = new Map<string, [number, number]>();
  for (let at = 1; at < order.length; at++) {
    const pair: [number, number] = [order[at - 1] as number, order[at] as number];
    pairs.set(pair.join(), pair);
  }
  const identifiers = identifiersOf(query);
  const terms = [...indexOf.keys()];
  return { query, isPlain, identifiers, words, terms, forms, stems, parts, pairs: [...pairs.values()] };
}

/** Returns the MATCH string for any of the words. Each is quoted, because AND, OR, NOT and NEAR may be among them. */
export function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}

export function matchForms(stems: readonly string[]): string {
  return stems.map(matchForm).join(" OR ");
}

export function matchAllForms(stems: readonly string[]): string {
  return stems.map(matchForm).join(" AND ");
}

/** Returns the MATCH string of a stem in `form_fts`. The index has pairs of letters, so a single letter becomes a prefix query. */
function matchForm(one: string): string {
  return `"${one}"${isLoneLetter(one) ? " *" : ""}`;
}

/** Returns the MATCH string for words that follow each other. */
export function matchPhrase(words: readonly string[]): string {
  return `"${words.join(" ")}"`;
}

/** Returns the MATCH string for drawers whose text, without date and headings, has all of the phrases. */
export function matchPhrases(phrases: readonly (readonly string[])[]): string {
  return `{text} : (${phrases.map(matchPhrase).join(" AND ")})`;
}
