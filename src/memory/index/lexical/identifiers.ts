/** Finds a question's identifiers: names in programs that count only in exactly this spelling (docs/lab/search-recipe.md). */

const WORD = /[^\s"'`“”‘’«»()[\]{}<>,;!?|]+/gu;
const CLOSING = /[.:…]+$/u;
/** Matches a word with a mark such as `_` or `/` in it, a digit next to a letter, a capital after a small letter, or four capitals. */
const IDENTIFIER =
  /[\p{L}\p{N}][_/:#][\p{L}\p{N}]|^[-_/#@$]+[\p{L}\p{N}]|[\p{L}]\.[\p{L}]|\p{L}\d|\d\p{L}|\p{Ll}\p{Lu}|^\p{Lu}{4,}$|_$/u;
/** Matches ordinals and times, which have a digit next to a letter but are not identifiers. */
const ORDINAL = /^\d+(st|nd|rd|th|am|pm|s)$/i;
const WEB = /^https?:/i;

/** Maximum number of identifiers of a question, because each is searched in every candidate. Only a pasted log has more. */
const IDENTIFIERS_MAX = 16;

/** Returns each identifier once, at most `IDENTIFIERS_MAX`. */
export function identifiersOf(question: string): string[] {
  const words = (question.match(WORD) ?? []).map((word) => word.replace(CLOSING, ""));
  const found = words.filter((word) => IDENTIFIER.test(word) && !ORDINAL.test(word) && !WEB.test(word));
  return [...new Set(found)].slice(0, IDENTIFIERS_MAX);
}

const BORDER = /[\p{L}\p{N}_]/u;

/** Returns the share of the identifiers that the text contains as whole words, 0…1; 0 for an empty list. */
export function shareHeld(identifiers: readonly string[], text: string): number {
  if (identifiers.length === 0) return 0;
  return identifiers.filter((identifier) => holds(text, identifier)).length / identifiers.length;
}

function holds(text: string, identifier: string): boolean {
  for (let at = text.indexOf(identifier); at >= 0; at = text.indexOf(identifier, at + 1)) {
    const isWhole = !BORDER.test(text.charAt(at - 1)) && !BORDER.test(text.charAt(at + identifier.length));
    if (isWhole) return true;
  }
  return false;
}
