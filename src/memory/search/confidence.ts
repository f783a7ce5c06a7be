/** Judges whether the palace has an answer to a question (source: docs/lab/search-recipe.md, the recipe, item 5). */
import { missedNotice } from "./phrases.ts";
import type { Ranked } from "./fusion.ts";

type Judged = Pick<Ranked, "cosine" | "words" | "sentenceWeight">;

const WEAK_BELOW = 0.34;
/** Maximum length of a short drawer, in characters (source: docs/lab/figures.md, short drawers). */
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

/** Returns the model's cosine or, if it is missing, the static cosine. */
function nearnessOf({ cosine, words: { meaning }, sentenceWeight }: Judged): number {
  const near = Number.isNaN(cosine) ? meaning : cosine;
  if (sentenceWeight === undefined) return near;
  // One of a prompt's many sentences may match by accident, so both cosines count, and a sentence that says little counts less.
  return sentenceWeight * (Number.isNaN(meaning) ? near : (near + meaning) / 2);
}

/** Returns true for a weak hit. A short drawer with a near meaning is not weak, because it may answer without the question's words. */
export function isWeakMatch(judged: Judged, textLength: number): boolean {
  if (Math.max(confidenceOf(judged), judged.words.file) >= WEAK_BELOW) return false;
  return !(textLength <= SHORT_MAX && nearnessOf(judged) >= SHORT_COSINE_MIN);
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
