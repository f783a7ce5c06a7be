/** Removes a system prompt that was pasted in front of the real question (palace.md 2.7). */
import { searchedPart } from "../../protocol/searched-part.ts";
import { codePointLength, strip, tail, wellFormed } from "../text/text.ts";

export type SanitizedQuery = {
  query: string;
  method: "passthrough" | "question_extraction" | "tail_sentence" | "tail_truncation";
  originalLength: number;
};

const PASSTHROUGH_MAX = 200;
const QUERY_MAX = 250;
const QUERY_MIN = 10;
/** Number of last characters that are searched for a question. A query of 15 MB would otherwise block the broker for seconds. */
const LOOKED_AT_MAX = 100_000;
const QUOTES = "\"'“”‘’«»「」『』";
const ASKS = /[?？]/u;
const ENDS_ASKING = new RegExp(`[?？][${QUOTES}]?\\s*$`, "u");
/** Matches a question mark at the end, also before closing marks. A `?` after `=` is code. */
const QUESTION_END = /[^=\s]\s?[?？؟][^\p{L}\p{N}]*$/u;

export function sanitizeQuery(raw: string): SanitizedQuery {
  if (strip(raw) === "") return { query: raw, method: "passthrough", originalLength: codePointLength(raw) };
  const whole = wellFormed(strip(raw));
  const originalLength = codePointLength(whole);
  const text = whole.length > LOOKED_AT_MAX ? wellFormed(strip(whole.slice(-LOOKED_AT_MAX))) : whole;
  if (originalLength <= PASSTHROUGH_MAX) return { query: text, method: "passthrough", originalLength };

  const question = lastQuestion(text);
  if (question !== undefined && codePointLength(question) >= QUERY_MIN) {
    return { query: shorten(question), method: "question_extraction", originalLength };
  }
  for (const segment of segments(text).reverse()) {
    const short = shorten(segment);
    if (codePointLength(short) >= QUERY_MIN) return { query: short, method: "tail_sentence", originalLength };
  }
  return { query: strip(tail(text, QUERY_MAX)), method: "tail_truncation", originalLength };
}

/** Minimum number of words of a sentence that is searched for. A greeting has fewer. */
const PART_WORDS_MIN = 3;
/** Number of first and last sentences of a long prompt that are searched for. The first contain the subject, the last the question. */
const PARTS_FIRST = 4;
const PARTS_LAST = 8;

/** Returns the texts to search for: a short prompt itself, or a long prompt as a whole plus its first and last sentences. */
export function partsOf(raw: string, { query, method }: SanitizedQuery): string[] {
  if (method === "passthrough") return [query];
  const read = wellFormed(searchedPart(strip(raw)));
  const parts = segments(read)
    .flatMap((segment) => sentences(segment, PART))
    .filter((part) => part.split(/\s+/u).length >= PART_WORDS_MIN);
  const unique = [...new Set([...parts, query])];
  const few =
    unique.length <= PARTS_FIRST + PARTS_LAST
      ? unique
      : [...unique.slice(0, PARTS_FIRST), ...unique.slice(-PARTS_LAST)];
  return [read, ...few.filter((part) => part !== read)];
}

/** Returns true for a single sentence that is a question. */
export function isQuestion(text: string): boolean {
  return QUESTION_END.test(text) && sentences(text, PART).filter((one) => /[\p{L}\p{N}]/u.test(one)).length === 1;
}

function lastQuestion(text: string): string | undefined {
  if (!ASKS.test(text)) return undefined;
  const line = segments(text).findLast((segment) => ENDS_ASKING.test(segment));
  return line ?? sentences(text).findLast((sentence) => ASKS.test(sentence));
}

function segments(text: string): string[] {
  return text.split("\n").map(strip).filter(Boolean);
}

/** Matches a sentence as upstream cuts it. */
const SENTENCE = /[^.!?。！？\n]+[.!?。！？]*/gu;
/** Matches a sentence that is searched for. A `?` inside a web address or code (`a?id=1`, `a?.b`, `a?: B`) does not end it. */
const PART = /(?:[^.!?。！？\n]|\?(?=[\w=&/:.]))+[.!?。！？]*/gu;

function sentences(text: string, pattern = SENTENCE): string[] {
  return (text.match(pattern) ?? []).map(strip).filter(Boolean);
}

function shorten(text: string): string {
  const isQuote = (char = ""): boolean => char !== "" && QUOTES.includes(char);
  let short = text;
  while (short.length >= 2 && isQuote(short[0]) && isQuote(short.at(-1))) short = strip(short.slice(1, -1));
  if (isQuote(short[0])) short = strip(short.slice(1));
  if (isQuote(short.at(-1))) short = strip(short.slice(0, -1));
  if (codePointLength(short) <= QUERY_MAX) return short;
  const piece = sentences(short).findLast(
    (sentence) => codePointLength(sentence) >= QUERY_MIN && codePointLength(sentence) <= QUERY_MAX,
  );
  return piece ?? strip(tail(short, QUERY_MAX));
}
