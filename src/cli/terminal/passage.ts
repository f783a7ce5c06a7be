/** Chooses the lines of a drawer to show after a search, with the matching words marked. Words match by their stems, as in the index. */
import { type Asked, askedWords, foundWords } from "../../memory/index/lexical/found-words.ts";
import { headingsOf, overlapOf } from "../../memory/text/headings.ts";
import { harmless, shorten } from "./output.ts";

export type Piece = { text: string; isMatch: boolean };
/** `heading`: last heading before the best line, unless `lines` has it. `line`: number of the best line; undefined without the document. */
export type Passage = { heading: string | undefined; line: number | undefined; lines: Piece[][] };

export type Window = {
  columns: number;
  rows: number;
  /** Slices of the same source around the drawer; they may overlap with it. */
  before?: readonly string[];
  after?: readonly string[];
  /** False if the first slice in `before` is not the beginning of the source. */
  isFromStart?: boolean;
  /** The whole source, and the drawer's position in it. */
  document?: { text: string; at: number } | undefined;
  /** False for kinds of text in which a # does not begin a heading. */
  hasHeadings?: boolean;
};

/** `from`, `to`: the drawer's position in `text`, which has the text around the drawer, too. */
type Context = { text: string; from: number; to: number; isFromStart: boolean };
/** One line of the screen. `at`: its position in the context's text. */
type Row = {
  pieces: Piece[];
  indent: number;
  terms: { term: string; at: number }[];
  at: number;
  isContinued: boolean;
  continues: boolean;
};

const CUT = "…";
const TAB = "    ";
const HEADING_MAX = 120;
/** Maximum number of characters that a passage shows before or after a drawer, to complete a cut line. */
const LINE_MAX = 4_000;

/** Returns the passage to show: at most `rows` lines of at most `columns` characters. */
export function passageOf(drawer: string, query: string, window: Window): Passage {
  const { columns, rows, document, hasHeadings = true } = window;
  const context = document === undefined ? joined(drawer, window) : inDocument(drawer, document);
  const all = rowsOf(context, askedWords(query), Math.max(columns - 2 * (CUT.length + 1), 1));
  const from = densest(all, rows);
  const begin = all[from]?.pieces.length === 0 ? from + 1 : from;
  const shown = trimmed(all.slice(begin, begin + rows));
  const [first] = shown;
  const at = first?.at ?? context.from;
  const match = bestRow(shown)?.terms[0]?.at ?? at;
  const above = hasHeadings
    ? headingsOf(context.text, context.isFromStart).findLast((one) => one.at <= match)
    : undefined;
  return {
    heading: above === undefined || above.at >= at ? undefined : shorten(above.title, HEADING_MAX),
    line: document === undefined ? undefined : lineAt(context.text, match),
    lines: drawn(shown),
  };
}

/** Returns the row with the most different words of the query; the first row if several have as many. */
function bestRow(rows: readonly Row[]): Row | undefined {
  const worth = ({ terms }: Row): number => new Set(terms.map(({ term }) => term)).size;
  return rows.reduce<Row | undefined>((best, row) => (worth(row) > (best ? worth(best) : 0) ? row : best), undefined);
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let feed = text.indexOf("\n"); feed >= 0 && feed < at; feed = text.indexOf("\n", feed + 1)) line++;
  return line;
}

function inDocument(drawer: string, { text, at }: { text: string; at: number }): Context {
  return wholeLines({ text, from: at, to: at + drawer.length, isFromStart: true });
}

/** Joins the drawer with the slices around it. Stops at a slice that does not overlap with the joined text. */
function joined(drawer: string, { before = [], after = [], isFromStart }: Window): Context {
  let text = drawer;
  let from = 0;
  let isWhole = true;
  for (const slice of before.toReversed()) {
    const overlap = overlapOf(slice, text);
    if (overlap === 0) {
      isWhole = false;
      break;
    }
    text = slice.slice(0, slice.length - overlap) + text;
    from += slice.length - overlap;
  }
  for (const slice of after) {
    const overlap = overlapOf(text, slice);
    if (overlap === 0) break;
    text += slice.slice(overlap);
  }
  return wholeLines({ text, from, to: from + drawer.length, isFromStart: isWhole && isFromStart !== false });
}

/** Extends the drawer to whole lines, because drawers are cut by length. */
function wholeLines(context: Context): Context {
  const { text, from, to } = context;
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const feed = text.indexOf("\n", Math.max(to - 1, 0));
  const end = feed < 0 ? text.length : feed;
  return {
    ...context,
    from: from === 0 || from - start > LINE_MAX ? from : start,
    to: end - to > LINE_MAX ? to : Math.max(end, to),
  };
}

/** Breaks lines at words to fit the screen, and keeps their indentation. */
function rowsOf({ text, from, to }: Context, terms: Asked, widthMax: number): Row[] {
  const rows: Row[] = [];
  for (let at = from; at <= to;) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 || feed > to ? to : feed;
    const line = text.slice(at, end);
    const isBlank = line.trim() === "";
    if (!isBlank) rows.push(...rowsOfLine(line, at, terms, widthMax));
    else if ((rows.at(-1)?.pieces.length ?? 0) > 0) rows.push(blank(at));
    at = end + 1;
  }
  return rows;
}

function blank(at: number): Row {
  return { pieces: [], indent: 0, terms: [], at, isContinued: false, continues: false };
}

function rowsOfLine(line: string, start: number, terms: Asked, widthMax: number): Row[] {
  const lead = /^\s*/.exec(line)?.[0] ?? "";
  const indent = Math.min(lead.replaceAll("\t", TAB).length, Math.floor(widthMax / 2));
  const width = Math.max(widthMax - indent, 1);
  const rows: Row[] = [];
  let row: Row = { ...blank(start), indent };
  let used = 0;
  for (const { 0: token, 1: gap = "", 2: word = "", index } of line.matchAll(/(\s*)(\S+)/g)) {
    for (const [part, offset] of partsOf(word, width)) {
      const space = row.pieces.length === 0 || offset > 0 ? "" : gap.replaceAll("\t", TAB);
      const length = Array.from(part).length;
      if (row.pieces.length > 0 && used + space.length + length > width) {
        rows.push({ ...row, continues: true });
        row = { ...blank(start + index + token.length - word.length + offset), indent, isContinued: true };
        used = 0;
      } else if (space !== "") {
        row.pieces.push({ text: space, isMatch: false });
        used += space.length;
      }
      const at = start + index + gap.length + offset;
      const { pieces, found } = piecesOf(part, terms);
      row.pieces.push(...pieces);
      row.terms.push(...found.map((term) => ({ term, at })));
      used += length;
    }
  }
  return [...rows, row];
}

function partsOf(word: string, width: number): [part: string, offset: number][] {
  const letters = Array.from(harmless(word));
  if (letters.length <= width) return [[letters.join(""), 0]];
  return Array.from({ length: Math.ceil(letters.length / width) }, (_, at) => [
    letters.slice(at * width, (at + 1) * width).join(""),
    letters.slice(0, at * width).join("").length,
  ]);
}

function piecesOf(word: string, terms: Asked): { pieces: Piece[]; found: string[] } {
  const pieces: Piece[] = [];
  const found: string[] = [];
  let end = 0;
  for (const { term, start, end: to } of foundWords(word, terms)) {
    if (start > end) pieces.push({ text: word.slice(end, start), isMatch: false });
    pieces.push({ text: word.slice(start, to), isMatch: true });
    found.push(term);
    end = to;
  }
  if (end < word.length) pieces.push({ text: word.slice(end), isMatch: false });
  return { pieces, found };
}

/** Finds the `size` rows with the most different words of the query, centres the matches, and returns the first row's index. */
function densest(rows: readonly Row[], size: number): number {
  let best = { first: 0, count: 0 };
  for (let first = 0; first < rows.length; first++) {
    const seen = new Set(rows.slice(first, first + size).flatMap(({ terms }) => terms.map(({ term }) => term)));
    if (seen.size > best.count) best = { first, count: seen.size };
  }
  const inside = rows.slice(best.first, best.first + size);
  const from = inside.findIndex(({ terms }) => terms.length > 0);
  const to = inside.findLastIndex(({ terms }) => terms.length > 0);
  if (from < 0) return 0;
  const centred = best.first + from - Math.floor((size - (to - from + 1)) / 2);
  const begin = Math.max(0, Math.min(centred, rows.length - size));
  // Begins the passage at the start of a line if possible.
  let whole = begin;
  while (whole < best.first + from && (rows[whole]?.isContinued === true || rows[whole]?.pieces.length === 0)) whole++;
  return rows[whole]?.isContinued === true ? begin : whole;
}

function trimmed(rows: readonly Row[]): Row[] {
  const isFull = ({ pieces }: Row): boolean => pieces.length > 0;
  return rows.slice(Math.max(rows.findIndex(isFull), 0), rows.findLastIndex(isFull) + 1);
}

/** Draws the rows without their common indentation, and marks a line that continues outside the rows. */
function drawn(rows: readonly Row[]): Piece[][] {
  const plain = (text: string): Piece[] => (text === "" ? [] : [{ text, isMatch: false }]);
  const common = Math.min(...rows.filter(({ pieces }) => pieces.length > 0).map(({ indent }) => indent));
  return rows.map(({ pieces, indent, isContinued, continues }, index) => [
    ...plain(pieces.length === 0 ? "" : " ".repeat(indent - common)),
    ...plain(index === 0 && isContinued ? `${CUT} ` : ""),
    ...pieces,
    ...plain(index === rows.length - 1 && continues ? ` ${CUT}` : ""),
  ]);
}
