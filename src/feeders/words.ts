/** Splits a list of words that is written as one text. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
