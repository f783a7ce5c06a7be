/**
 * Judges whether the palace has an answer at all. A hit is weak if its meaning is far from the question and it has few of the question's
 * words. Pure; used by search.ts and search-tool.ts. Source: docs/lab/search-recipe.md, the recipe, item 5: the rule marks 94 % of the
 * questions that the palace cannot answer, and 5 % of the others.
 */
import { missedNotice } from "./phrases.ts";
import type { Ranked } from "./fusion.ts";

type Judged = Pick<Ranked, "cosine" | "words" | "sentenceWeight">;

const WEAK_BELOW = 0.34;
/** Maximum length of a short drawer (source: docs/lab/figures.md, short drawers). */
const SHORT_MAX = 200;
const SHORT_COSINE_MIN = 0.35;

const WEAK_NOTICE =
  "Weak match: even the best of these has little to do with the question. The palace may hold nothing about it.";
const NOTHING_NOTICE = "Nothing found.";

/** Returns 0…1: half the cosine plus half the share of the question's words (rare words count more). Without a vector, only words count. */
export function confidenceOf(judged: Judged): number {
  const near = nearnessOf(judged);
  const held = judged.words.coverage * (judged.sentenceWeight ?? 1);
  return Number.isNaN(near) ? held : (Math.max(0, near) + held) / 2;
}

/**
 * Returns the model's cosine or, if it is missing, the static one. Similar texts have similar values of both. For a sentence of a prompt,
 * returns their mean, less if the sentence says little, because a sentence may match by accident (docs/lab/search-recipe.md, long prompts).
 */
function nearnessOf({ cosine, words: { meaning }, sentenceWeight }: Judged): number {
  const near = Number.isNaN(cosine) ? meaning : cosine;
  if (sentenceWeight === undefined) return near;
  return sentenceWeight * (Number.isNaN(meaning) ? near : (near + meaning) / 2);
}

/**
 * Returns true for a weak hit. A drawer of a file that the question names is not weak, unless many files have that name. A short drawer is
 * judged only by its meaning, because it may answer without the question's words. `length`: length of the drawer's text.
 */
export function isWeakMatch(judged: Judged, length: number): boolean {
  if (Math.max(confidenceOf(judged), judged.words.file) >= WEAK_BELOW) return false;
  return !(length <= SHORT_MAX && nearnessOf(judged) >= SHORT_COSINE_MIN);
}

/** Judges the whole answer. `phrases`: phrases quoted in the query; `isMissed`: true if a hint already explains the empty answer. */
export function verdictOn(
  hits: readonly Record<string, unknown>[],
  phrases?: { quoted: readonly string[]; found: boolean },
  isMissed = false,
): { nothing_found?: true; weak_match?: true; notice?: string } {
  const isEmpty = hits.length === 0;
  const isWeak = hits[0]?.["weak"] === true;
  const notices = [
    ...(isEmpty && !isMissed ? [NOTHING_NOTICE] : []),
    ...(phrases?.found === false && !isEmpty ? [missedNotice(phrases.quoted)] : []),
    ...(isWeak ? [WEAK_NOTICE] : []),
  ];
  return {
    ...(isEmpty && { nothing_found: true }),
    ...(isWeak && { weak_match: true }),
    ...(notices.length > 0 && { notice: notices.join(" ") }),
  };
}
