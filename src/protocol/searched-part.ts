/** Number of first characters of a long prompt that a search reads; they have the subject. A pasted log can have millions. */
const FIRST = 2_000;
/** Number of last characters that a search reads; they have the question. */
const LAST = 8_000;

/** Returns the part of a prompt that a search reads: the whole prompt if it is short, else its beginning and its end. */
export function searchedPart(prompt: string): string {
  if (prompt.length <= FIRST + LAST) return prompt;
  return `${prompt.slice(0, FIRST)}\n${prompt.slice(-LAST)}`.toWellFormed();
}
