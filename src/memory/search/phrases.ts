/**
 * Finds phrases in quotation marks in a question. A drawer must contain the words of a phrase unchanged and in this order. Pure; used by
 * search.ts, which asks the lexical index for such drawers.
 */

/** Maximum number of phrases. A text with more is a pasted text, not a question. */
const PHRASES_MAX = 5;

/** Quotation marks. A space is before an opening mark and after a closing mark, so inches and cut-off quotations do not match. */
const QUOTED = /(?<=^|[\s([{,;:—–-])(?:"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»)(?=$|[\s)\]}.,;:!?—–-])/gu;

export function quotedPhrases(query: string): string[] {
  const quoted = [...query.matchAll(QUOTED)].map((match) => match.slice(1).find((part) => part !== undefined) ?? "");
  return [...new Set(quoted.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)))].slice(0, PHRASES_MAX);
}

/** Returns the notice for a search that found no drawer with the quoted phrases. */
export function missedNotice(phrases: readonly string[]): string {
  const shown = phrases.map((phrase) => `"${phrase}"`).join(", ");
  return `No drawer has ${shown} word for word; the words were looked for one by one.`;
}
