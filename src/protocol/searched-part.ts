/** Number of characters at a prompt's beginning that a search reads. A pasted log can have millions. */
const FIRST = 2_000;
/** Number of characters at the end that a search reads. This is more, because the question is usually there. */
const LAST = 8_000;

/** Returns the text to search for: the prompt, or the beginning and the end of a long one. */
export function searchedPart(prompt: string): string {
  if (prompt.length <= FIRST + LAST) return prompt;
  return `${prompt.slice(0, FIRST)}\n${prompt.slice(-LAST)}`.toWellFormed();
}
