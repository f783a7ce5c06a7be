/**
 * Picks the passage of a drawer that a person wants to see after a search: the lines around the matching words, wrapped at
 * words, with the matches marked. Words match by their stems, as in the index. Pure. Used by `palace search` on a terminal.
 */
import { parseQuery } from "../../index/lexical/query.ts";
import { stem } from "../../index/lexical/stem.ts";
import { foldText } from "../../index/lexical/tokens.ts";
import { harmless, shorten } from "./output.ts";

export type Piece = { text: string; isMatch: boolean };
/** `heading` is the nearest above the passage; undefined when there is none, or when the passage contains it. */
export type Passage = { heading: string | undefined; lines: Piece[][] };

type Window = { columns: number; rows: number; before?: readonly string[]; after?: readonly string[] };
type Word = { pieces: Piece[]; terms: string[]; at: number; width: number };

const WORD = /[\p{L}\p{N}\p{Co}]+/gu;
const HEADING = /^ {0,3}#{1,6}[ \t]+(\S.*)$/gm;
const HEADING_MAX = 120;
const CUT = "…";
/** Enough of a drawer's end to find it in the next one. */
const OVERLAP_SEEN = 40;

/**
 * `before` and `after` are the slices of its source around the drawer. Shape: at most `rows` lines of at most `columns`
 * characters.
 */
export function passageOf(drawer: string, query: string, { columns, rows, before = [], after = [] }: Window): Passage {
  const text = withoutHalfWords(drawer, before.at(-1) ?? "", after[0] ?? "");
  const words = wordsOf(harmless(text), new Set(parseQuery(query).terms), columns - 2 * (CUT.length + 1));
  const { first, last } = densest(words, (columns - CUT.length) * rows);
  const lines = wrap(words, { first, last, columns, rows, isSlice: text !== drawer });
  const begin = words[first]?.at ?? 0;
  const match = words.slice(first).find(({ terms }) => terms.length > 0)?.at ?? begin;
  const above = before.join("\n");
  return { heading: headingAbove(text, begin, match) ?? headingAbove(above, above.length, above.length), lines };
}

/** A drawer is cut by length and overlaps with its neighbours, which show whether it begins or ends inside a word. */
function withoutHalfWords(drawer: string, before: string, after: string): string {
  const tail = drawer.slice(-OVERLAP_SEEN);
  const isInside = (character: string, edge: string): boolean => /^\S\S$/.test(character + edge);
  const start = before.lastIndexOf(drawer.slice(0, OVERLAP_SEEN));
  const end = after.indexOf(tail);
  const beginsInside = start > 0 && isInside(before.charAt(start - 1), drawer.slice(0, 1));
  const endsInside = end >= 0 && isInside(after.charAt(end + tail.length), drawer.slice(-1));
  const from = beginsInside ? Math.max(0, drawer.search(/\s/)) : 0;
  const to = endsInside ? Math.max(drawer.lastIndexOf(" "), drawer.lastIndexOf("\n")) : drawer.length;
  return to > from ? drawer.slice(from, to) : drawer;
}

/** Splits at white space; a piece wider than a line is split into parts. */
function wordsOf(text: string, terms: ReadonlySet<string>, widthMax: number): Word[] {
  return [...text.matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
    const letters = Array.from(word);
    const parts =
      letters.length <= widthMax
        ? [word]
        : Array.from({ length: Math.ceil(letters.length / widthMax) }, (_, at) =>
            letters.slice(at * widthMax, (at + 1) * widthMax).join(""),
          );
    return parts.map((part) => ({ ...piecesOf(part, terms), at: index, width: Array.from(part).length }));
  });
}

function piecesOf(word: string, terms: ReadonlySet<string>): Pick<Word, "pieces" | "terms"> {
  const pieces: Piece[] = [];
  const found: string[] = [];
  let end = 0;
  for (const { 0: part, index } of word.matchAll(WORD)) {
    // A word of the query is indexed without its apostrophe.
    const term = stem(foldText(part));
    if (!terms.has(term)) continue;
    if (index > end) pieces.push({ text: word.slice(end, index), isMatch: false });
    pieces.push({ text: part, isMatch: true });
    found.push(term);
    end = index + part.length;
  }
  if (end < word.length) pieces.push({ text: word.slice(end), isMatch: false });
  return { pieces, terms: found };
}

/**
 * Returns the range of words that fits and holds most of the query's words, each counted once; of equal ranges the first,
 * shifted so that its matches are in the middle.
 */
function densest(words: readonly Word[], widthMax: number): { first: number; last: number } {
  const counts = new Map<string, number>();
  let width = 0;
  let last = 0;
  let best = { first: 0, terms: 0 };
  for (let first = 0; first < words.length; first++) {
    for (; last < words.length && width + (words[last]?.width ?? 0) <= widthMax; last++) {
      width += (words[last]?.width ?? 0) + 1;
      for (const term of words[last]?.terms ?? []) counts.set(term, (counts.get(term) ?? 0) + 1);
    }
    if (counts.size > best.terms) best = { first, terms: counts.size };
    width -= (words[first]?.width ?? 0) + 1;
    for (const term of words[first]?.terms ?? []) {
      const left = (counts.get(term) ?? 0) - 1;
      if (left > 0) counts.set(term, left);
      else counts.delete(term);
    }
  }
  return centred(words, best.first, widthMax);
}

function centred(words: readonly Word[], first: number, widthMax: number): { first: number; last: number } {
  const end = fitting(words, first, widthMax);
  const isMatch = ({ terms }: Word): boolean => terms.length > 0;
  const inside = words.slice(first, end);
  const [from, to] = [inside.findIndex(isMatch), inside.findLastIndex(isMatch)];
  if (from < 0) return { first, last: end };
  const widthOf = (part: readonly Word[]): number => part.reduce((sum, { width }) => sum + width + 1, 0);
  const spare = Math.max(0, widthMax - widthOf(inside.slice(from, to + 1)));
  let begin = first + from;
  for (let room = spare / 2; begin > 0; begin--) {
    room -= (words[begin - 1]?.width ?? 0) + 1;
    if (room < 0) break;
  }
  return { first: begin, last: fitting(words, begin, widthMax) };
}

/** Returns the index after the last word that fits. */
function fitting(words: readonly Word[], first: number, widthMax: number): number {
  let end = first;
  for (let width = 0; end < words.length; end++) {
    width += words[end]?.width ?? 0;
    if (width > widthMax) break;
    width += 1;
  }
  return end;
}

type Wrapping = { first: number; last: number; columns: number; rows: number; isSlice: boolean };

function wrap(words: readonly Word[], { first, last, columns, rows, isSlice }: Wrapping): Piece[][] {
  const plain = (text: string): Piece => ({ text, isMatch: false });
  const lines: Piece[][] = [];
  let line: Piece[] = first > 0 || isSlice ? [plain(CUT)] : [];
  let width = line.length;
  let at = first;
  for (; at < last; at++) {
    const word = words[at] as Word;
    // The last line leaves room for the mark that says there is more.
    const max = lines.length === rows - 1 && at < words.length - 1 ? columns - CUT.length - 1 : columns;
    const gap = line.length > 0 ? 1 : 0;
    if (width + gap + word.width > max) {
      if (lines.length === rows - 1) break;
      lines.push(line);
      [line, width] = [[], 0];
    } else if (gap > 0) {
      line.push(plain(" "));
      width += 1;
    }
    line.push(...word.pieces);
    width += word.width;
  }
  if (at < words.length) line.push(plain(` ${CUT}`));
  return line.length > 0 ? [...lines, line] : lines;
}

/** Returns the last heading before `match`, unless it is in the passage itself, which begins at `begin`. */
function headingAbove(text: string, begin: number, match: number): string | undefined {
  const above = [...text.slice(0, match).matchAll(HEADING)].at(-1);
  return above === undefined || (above.index >= begin && begin < text.length)
    ? undefined
    : shorten(above[1] ?? "", HEADING_MAX);
}
