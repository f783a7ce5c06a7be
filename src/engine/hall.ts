/** Hall of a drawer: the content category whose keywords it holds most of (palace.md 3.3, 5.2). Pure. */
import { KeywordScanner } from "./keywords.ts";
import { head } from "./text.ts";

/** In upstream's order: the first of equals wins. */
const HALLS: readonly (readonly [hall: string, keywords: readonly string[]])[] = [
  ["emotions", ["scared", "afraid", "worried", "happy", "sad", "love", "hate", "feel", "cry", "tears"]],
  ["consciousness", ["consciousness", "conscious", "aware", "real", "genuine", "soul", "exist", "alive"]],
  ["memory", ["memory", "remember", "forget", "recall", "archive", "palace", "store"]],
  ["technical", ["code", "python", "script", "bug", "error", "function", "api", "database", "server"]],
  ["identity", ["identity", "name", "who am i", "persona", "self"]],
  ["family", ["family", "kids", "children", "daughter", "son", "parent", "mother", "father"]],
  ["creative", ["game", "gameplay", "player", "app", "design", "art", "music", "story"]],
];

/** Owner of a keyword = index of its hall. */
const KEYWORDS = new KeywordScanner(
  HALLS.flatMap(([, keywords], owner) => keywords.map((keyword) => ({ keyword, owner }))),
);

const WINDOW = 3000;

export function hallOf(text: string): string {
  const found = KEYWORDS.foundIn(head(text, WINDOW).toLowerCase());
  let best = "general";
  let most = 0;
  HALLS.forEach(([hall], index) => {
    const count = found.filter((owner) => owner === index).length;
    if (count > most) [best, most] = [hall, count];
  });
  return best;
}
