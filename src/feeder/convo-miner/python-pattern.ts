/**
 * Translates patterns of upstream's Python to JavaScript: its word, its word boundary, its white space. Used by general.ts.
 */
export const SPACE = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
const WORD = String.raw`[\p{L}\p{N}_]`;
/** `\b` where a word begins, and where it ends. */
export const START = `(?<!${WORD})(?=${WORD})`;
export const END = `(?<=${WORD})(?!${WORD})`;

/** Translates a pattern as Python writes it, with \b, \d and \w; a full stop matches all but a line feed. */
export function pythonPattern(source: string, flags = "gu"): RegExp {
  const body = source
    .replaceAll(String.raw`\b`, `(?:${START}|${END})`)
    .replaceAll(String.raw`\d`, String.raw`\p{Nd}`)
    .replaceAll(String.raw`\w`, WORD);
  return new RegExp(body, flags);
}
