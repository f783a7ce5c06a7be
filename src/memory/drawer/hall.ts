/** Decides the hall of a drawer: the content category with the most keywords in its text (palace.md 3.3, 5.2). */
import type { HallKeywords } from "../../protocol/filing.ts";
import { HALL_KEYWORD_LENGTH_MAX, HALL_KEYWORDS_MAX } from "../../protocol/limits.ts";
import { head } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";
import { KeywordScanner } from "./keywords.ts";

/** Default halls in upstream's order, which decides between halls with equal counts. */
const HALLS: HallKeywords = [
  ["emotions", ["scared", "afraid", "worried", "happy", "sad", "love", "hate", "feel", "cry", "tears"]],
  ["consciousness", ["consciousness", "conscious", "aware", "real", "genuine", "soul", "exist", "alive"]],
  ["memory", ["memory", "remember", "forget", "recall", "archive", "palace", "store"]],
  ["technical", ["code", "python", "script", "bug", "error", "function", "api", "database", "server"]],
  ["identity", ["identity", "name", "who am i", "persona", "self"]],
  ["family", ["family", "kids", "children", "daughter", "son", "parent", "mother", "father"]],
  ["creative", ["game", "gameplay", "player", "app", "design", "art", "music", "story"]],
];
/** The default halls as JSON. Upstream's init writes them into config.json, so most configured halls equal them. */
const HALLS_JSON = JSON.stringify(HALLS);

/** Scanner for the keywords of the default halls. `owner`: index of the keyword's hall. */
const KEYWORDS = new KeywordScanner(
  HALLS.flatMap(([, keywords], owner) => keywords.map((keyword) => ({ keyword, owner }))),
);

const WINDOW = 3000;

export type HallFinder = (text: string) => string;

export const hallOf: HallFinder = (text) => {
  const found = KEYWORDS.foundIn(windowOf(text));
  return fullest(HALLS, (index) => found.filter((owner) => owner === index).length);
};

/** Returns a function that finds a hall. It lower-cases only the text, so a configured keyword with a capital never matches. */
export function hallFinder(halls: HallKeywords | undefined): HallFinder {
  if (halls === undefined || JSON.stringify(halls) === HALLS_JSON) return hallOf;
  return (text) => {
    const window = windowOf(text);
    return fullest(halls, (index) => (halls[index]?.[1] ?? []).filter((keyword) => window.includes(keyword)).length);
  };
}

/** Checks the halls that a feeder sends. Errors: InvalidValue. */
export function hallList(value: unknown): HallKeywords | undefined {
  if (value === undefined) return undefined;
  const isWord = (word: unknown): boolean => typeof word === "string" && word.length <= HALL_KEYWORD_LENGTH_MAX;
  const isHall = (hall: unknown): boolean =>
    Array.isArray(hall) && typeof hall[0] === "string" && Array.isArray(hall[1]) && hall[1].every(isWord);
  const isFew = (halls: HallKeywords): boolean =>
    halls.reduce((count, [, keywords]) => count + 1 + keywords.length, 0) <= 2 * HALL_KEYWORDS_MAX;
  if (Array.isArray(value) && value.every(isHall) && isFew(value as unknown as HallKeywords))
    return value as unknown as HallKeywords;
  throw new InvalidValue(`halls must be a list of names with lists of at most ${HALL_KEYWORDS_MAX} words together`);
}

function windowOf(text: string): string {
  return head(text, WINDOW).toLowerCase();
}

function fullest(halls: HallKeywords, countOf: (index: number) => number): string {
  let best = "general";
  let most = 0;
  halls.forEach(([hall], index) => {
    const count = countOf(index);
    if (count > most) [best, most] = [hall, count];
  });
  return best;
}
