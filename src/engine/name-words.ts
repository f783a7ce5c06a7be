/**
 * Words that look like names of people, projects and products: with a capital, and no common English word. Closets are
 * tagged with the frequent ones. Pure. Source: upstream 3.3.6, `_candidate_entity_words` and what filters it (palace.md 4.9);
 * the product names of several words that page tells of came after that release.
 */
import { COMMON_WORDS } from "./common-words.ts";
import { codePointLength } from "./text.ts";

/** As Python's `\w` and `\b` have it: a name with `É` or a digit in it is none. */
const WORD = /[\p{L}\p{N}_]+/gu;
/**
 * Words that upstream's `[A-Z][a-z]+(?:[A-Z][a-z]+|[A-Z]{2,})+|[A-Z][a-z]{1,19}` matches as a whole. Written so that there is one
 * way to match one: theirs tries every division of a run of capitals, for hours where a digit follows a long one.
 */
const NAME = /^[A-Z][a-z]+(?:(?:(?:[A-Z]|[A-Z]{3,})[a-z]+)+(?:[A-Z]{2,})?|[A-Z]{2,})$|^[A-Z][a-z]{1,19}$/;

/** Sentence starters, the roles of a transcript, days and months. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `The This That These Those When Where What Why Who Which How After Before Then Now Here There And But Or Yet So If Else
  Yes No Maybe Okay User Assistant System Tool Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February
  March April May June July August September October November December`.split(/\s+/),
);

const NAMES_MIN = 2;
const TAGS_MAX = 25;

/** Names that occur at least twice, each with its count, in the order of their first occurrence. */
export function nameWords(text: string): [name: string, count: number][] {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(WORD)) {
    if (!NAME.test(word) || STOP_WORDS.has(word) || COMMON_WORDS.has(word.toLowerCase())) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count >= NAMES_MIN);
}

/** The `entities` of a row's metadata: longer than two characters, by code point, joined by `;`; empty where there are none. */
export function nameTags(text: string): string {
  return nameWords(text)
    .map(([name]) => name)
    .filter((name) => codePointLength(name) > 2)
    .sort()
    .slice(0, TAGS_MAX)
    .join(";");
}
