/** Cuts a transcript into drawers, exchange by exchange, exactly as upstream 3.11 does. */
import { codePointLength, strip } from "../../memory/text/text.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";

/** Default of `sizeMin`, characters. Documents have a larger minimum, but an exchange may be short. */
const SIZE_MIN = 30;
const GROUP_LINES = 25;
const FEEDS_MIN = 20;

/** `size`: maximum size of a drawer, characters. An exchange of at most `sizeMin` is joined to the drawer before it, if both fit. */
export function chunkConversation(transcript: string, size = DRAWER_SIZE, sizeMin = SIZE_MIN): string[] {
  const lines = transcript.split("\n");
  const chunks = new Chunks(size, sizeMin);
  if (lines.reduce((count, line) => count + (isQuestion(line) ? 1 : 0), 0) >= 3) byExchange(lines, chunks);
  else byParagraph(transcript, lines, chunks);
  return chunks.texts;
}

export function isQuestion(line: string): boolean {
  return line.includes(">") && strip(line).startsWith(">");
}

/** Adds the text before the first question, then each question with its answer. */
function byExchange(lines: readonly string[], chunks: Chunks): void {
  let at = 0;
  const takeAnswer = (): string => {
    const start = at;
    while (at < lines.length && !isQuestion(lines[at] ?? "")) at += 1;
    return lines.slice(start, at).join("\n");
  };
  const preamble = takeAnswer();
  chunks.add(trimFeeds(preamble), "\n");
  let gap = gapAfter(preamble);
  while (at < lines.length) {
    const question = strip(lines[at++] ?? "");
    const raw = takeAnswer();
    const answer = trimFeedsEnd(raw);
    chunks.add(answer === "" ? question : `${question}\n${answer}`, gap);
    gap = gapAfter(raw);
  }
}

function byParagraph(transcript: string, lines: readonly string[], chunks: Chunks): void {
  const paragraphs = paragraphsOf(transcript);
  if (paragraphs.length > 1 || lines.length - 1 <= FEEDS_MIN) {
    for (const paragraph of paragraphs) chunks.add(paragraph, "\n\n");
  } else for (const group of lineGroups(lines)) chunks.add(group, "\n");
}

export function paragraphsOf(text: string): string[] {
  return text
    .split("\n\n")
    .map(strip)
    .filter((paragraph) => paragraph !== "");
}

export function lineGroups(lines: readonly string[]): string[] {
  const groups = Array.from({ length: Math.ceil(lines.length / GROUP_LINES) }, (_, at) =>
    strip(lines.slice(at * GROUP_LINES, (at + 1) * GROUP_LINES).join("\n")),
  );
  return groups.filter((group) => group !== "");
}

/** Returns the line feeds at the end of `raw`, and the line feed that `split` removed between `raw` and the next question. */
function gapAfter(raw: string): string {
  return "\n".repeat(raw.length - trimFeedsEnd(raw).length + 1);
}

function trimFeedsEnd(text: string): string {
  let end = text.length;
  while (end > 0 && text.charAt(end - 1) === "\n") end -= 1;
  return text.slice(0, end);
}

function trimFeeds(text: string): string {
  let start = 0;
  while (text.charAt(start) === "\n") start += 1;
  return trimFeedsEnd(text.slice(start));
}

class Chunks {
  readonly texts: string[] = [];
  readonly #size: number;
  readonly #sizeMin: number;

  constructor(size: number, sizeMin: number) {
    this.#size = size;
    this.#sizeMin = sizeMin;
  }

  add(unit: string, joiner: string): void {
    const bare = strip(unit);
    if (bare === "") return;
    const last = this.texts.at(-1);
    if (last !== undefined && codePointLength(bare) <= this.#sizeMin) {
      const merged = last + joiner + unit;
      if (codePointLength(merged) <= this.#size) {
        this.texts[this.texts.length - 1] = merged;
        return;
      }
    }
    this.texts.push(...pieces(unit, this.#size));
  }
}

/** Cuts the unit into pieces of at most `size` characters, after the last white space in a piece's second half if there is any. */
function pieces(unit: string, size: number): string[] {
  // Positions count code points. A text without surrogate pairs, the usual case, is indexed directly, which is faster.
  const points = codePointLength(unit) === unit.length ? unit : Array.from(unit);
  const slice = (start: number, end: number): string =>
    typeof points === "string" ? points.slice(start, end) : points.slice(start, end).join("");
  const found: string[] = [];
  let start = 0;
  const half = Math.floor(size / 2);
  while (points.length - start > size) {
    let cut = start + size;
    while (cut > start + half && !isBreak(points[cut - 1])) cut -= 1;
    if (cut === start + half) cut = start + size;
    found.push(slice(start, cut));
    start = cut;
  }
  found.push(slice(start, points.length));
  return found;
}

function isBreak(character: string | undefined): boolean {
  return character === " " || character === "\n" || character === "\t";
}
