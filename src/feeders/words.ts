/** Splits a list of words that is written as one text. Used by tables of the feeders. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
