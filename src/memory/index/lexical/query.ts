/**
 * Parses a search query into terms, pairs and FTS5 MATCH strings. Pure; used by lexical-search.ts. Source: bench
 * README, recipe 3 and 4.
 */
import { identifiersOf } from "./identifiers.ts";
import { stem } from "./stem.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { foldText, splitWords } from "./tokens.ts";

/** A longer question adds cost, not meaning. */
const WORDS_MAX = 64;
const CHARACTERS_MAX = 20_000;

/**
 * Shape: `query` is as asked, at most 20,000 characters. `words[i]` is as asked and goes into MATCH, which folds and stems it itself;
 * `terms[i]` is its stem, each once, in the order of the query. `pairs` are neighbours in the query, as indexes into both.
 */
export type ParsedQuery = {
  query: string;
  identifiers: string[];
  words: string[];
  terms: string[];
  pairs: [number, number][];
};

export function parseQuery(asked: string): ParsedQuery {
  const query = asked.slice(0, CHARACTERS_MAX).toWellFormed();
  const plain = query
    .toLowerCase()
    .normalize("NFC")
    .replace(/['’]s(?![\p{L}\p{N}])/gu, "")
    .replace(/['’]/g, "");
  const all = splitWords(plain);
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  const kept = (telling.length > 0 ? telling : all).slice(0, WORDS_MAX);

  const indexOf = new Map<string, number>();
  const words: string[] = [];
  const order = kept.map((word) => {
    const term = stem(foldText(word));
    const known = indexOf.get(term);
    if (known !== undefined) return known;
    indexOf.set(term, words.length);
    return words.push(word) - 1;
  });
  const pairs = new Map<string, [number, number]>();
  for (let at = 1; at < order.length; at++) {
    const pair: [number, number] = [order[at - 1] as number, order[at] as number];
    pairs.set(pair.join(), pair);
  }
  return { query, identifiers: identifiersOf(query), words, terms: [...indexOf.keys()], pairs: [...pairs.values()] };
}

/** MATCH string for any of the words. Every word is quoted, because AND, OR, NOT and NEAR are words too. */
export function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}

/** MATCH string for words that follow each other. */
export function matchPhrase(words: readonly string[]): string {
  return `"${words.join(" ")}"`;
}

/** MATCH string for several phrases, all of them in the text itself. */
export function matchPhrases(phrases: readonly (readonly string[])[]): string {
  return `{text} : (${phrases.map(matchPhrase).join(" AND ")})`;
}
