/** Decodes a text file by its byte order mark, else as UTF-8, else as Windows-1252. Pure. */

/** Decoded text. `lost`: number of characters that could not be decoded and are U+FFFD in the text. */
export type Decoded = { text: string; lost: number };

/** Maximum length of a run of non-ASCII letters in Windows-1252. A longer run shows another encoding, such as Chinese or Cyrillic. */
const LETTERS_MAX = 3;
const OF_OTHERS = new RegExp(`[\\x81\\x8d\\x8f\\x90\\x9d]|[\\x80-\\xff]{${LETTERS_MAX + 1}}`);

export function decodeText(bytes: Buffer): Decoded {
  const utf16 = utf16Of(bytes);
  if (utf16 !== undefined) return decoded(new TextDecoder(utf16).decode(bytes));
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const found = decoded((hasMark ? bytes.subarray(3) : bytes).toString("utf8"));
  if (found.lost === 0 || hasMark || bytes.includes(0)) return found;
  // If at least half of the characters above ASCII are valid, the text is damaged UTF-8 and not another encoding.
  const whole = (found.text.match(/[^\x00-\x7f\ufffd]/g) ?? []).length;
  if (whole >= found.lost || OF_OTHERS.test(bytes.toString("latin1"))) return found;
  return { text: new TextDecoder("windows-1252").decode(bytes), lost: 0 };
}

/** Returns the UTF-16 encoding by the byte order mark; undefined for UTF-32 and without a mark. */
export function utf16Of(bytes: Buffer): "utf-16le" | "utf-16be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe && (bytes[2] !== 0 || bytes[3] !== 0)) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

export function lostNotice(name: string, lost: number): string {
  return `${name}: ${lost} characters have no known encoding and are filed as \uFFFD; save it as UTF-8`;
}

function decoded(text: string): Decoded {
  return { text, lost: text.match(/\ufffd/g)?.length ?? 0 };
}
