/** Finds the phrases in quotation marks in a question. */

/** Maximum number of phrases. Further ones are ignored, because a text with so many was pasted and is not a question. */
const PHRASES_MAX = 5;

/** Matches a quotation. A blank or punctuation must surround it, so inches (`5"`) and cut-off quotations do not match. */
const QUOTED = /(?<=^|[\s([{,;:—–-])(?:"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»)(?=$|[\s)\]}.,;:!?—–-])/gu;

export function quotedPhrases(query: string): string[] {
  const quoted = [...query.matchAll(QUOTED)].map((match) => match.slice(1).find((part) => part !== undefined) ?? "");
  return [...new Set(quoted.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)))].slice(0, PHRASES_MAX);
}

export function missedNotice(phrases: readonly string[]): string {
  const shown = phrases.map((phrase) => `"${phrase}"`).join(", ");
  return `No drawer has ${shown} word for word; the words were looked for one by one.`;
}
