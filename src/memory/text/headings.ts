/** Finds the headings of a Markdown text, but no `#` in a code fence or front matter. No pattern backtracks over the text. */

/** A heading of a Markdown text. `at`: UTF-16 offset of the heading's line. `level`: 1 to 6. */
export type Heading = { at: number; level: number; title: string };
type Fence = { mark: string; isOpener: boolean };
type Line = { line: string; at: number };

const MARKDOWN = /\.(?:md|mdx|markdown|mkd|qmd|rmd)$/i;
const FRONT_MATTER = /^---\n[\s\S]*?\n---(?:\n|$)/;
const INDENT_MAX = 3;
const LEVEL_MAX = 6;
const FENCE_MIN = 3;
const TITLE_MAX = 120;
/** Maximum length of all headings above a slice together, in characters. */
const ABOVE_MAX = 400;
/** Minimum and maximum length of the text that two slices have in common, in characters. */
const OVERLAP_MIN = 20;
const OVERLAP_MAX = 1_000;

export function isMarkdown(sourceFile: string): boolean {
  return MARKDOWN.test(sourceFile);
}

/** Returns the headings above each slice of a document, in order: one heading per line, the outermost first. */
export function headingsAbove(sourceFile: string, slices: readonly string[]): string[] {
  if (!isMarkdown(sourceFile)) return [];
  const { text, starts } = joinSlices(slices);
  const headings = headingsOf(text, true);
  const above: Heading[] = [];
  let next = 0;
  return starts.map((start) => {
    for (let heading = headings[next]; heading !== undefined && heading.at < start; heading = headings[++next]) {
      while ((above.at(-1)?.level ?? 0) >= heading.level) above.pop();
      above.push(heading);
    }
    return above
      .map(({ title }) => title.slice(0, TITLE_MAX))
      .join("\n")
      .slice(0, ABOVE_MAX);
  });
}

/** Joins slices where they overlap. `starts`: index in the joined text at which each slice begins. */
function joinSlices(slices: readonly string[]): { text: string; starts: number[] } {
  const pieces: string[] = [];
  const starts: number[] = [];
  let length = 0;
  slices.forEach((slice, at) => {
    starts.push(length);
    const next = slices[at + 1];
    const overlap = next === undefined ? 0 : overlapOf(slice, next);
    const piece = overlap === 0 ? `${slice}\n` : slice.slice(0, slice.length - overlap);
    length += piece.length;
    pieces.push(piece);
  });
  return { text: pieces.join(""), starts };
}

/** Returns the length of the longest end of `left` with which `right` begins; 0 if it has less than OVERLAP_MIN characters. */
export function overlapOf(left: string, right: string): number {
  const begin = right.slice(0, OVERLAP_MIN);
  if (begin.length < OVERLAP_MIN) return 0;
  for (let at = left.indexOf(begin, Math.max(0, left.length - OVERLAP_MAX)); at >= 0; at = left.indexOf(begin, at + 1))
    if (right.startsWith(left.slice(at))) return left.length - at;
  return 0;
}

/** Returns a text's headings. `isFromStart`: the text is the beginning of its document, so it begins neither inside a line nor a fence. */
export function headingsOf(text: string, isFromStart: boolean): Heading[] {
  const from = isFromStart ? (FRONT_MATTER.exec(text)?.[0].length ?? 0) : text.indexOf("\n") + 1;
  if (!isFromStart && from === 0) return [];
  const start = isFromStart ? "outside" : startOf(text, from);
  let open = start === "inside" ? "any" : "";
  const found: Heading[] = [];
  for (const { line, at } of linesOf(text, from)) {
    const fence = fenceOf(line);
    if (fence !== undefined) {
      if (open === "") open = fence.mark;
      else if (!fence.isOpener && (open === "any" || fence.mark.startsWith(open))) open = "";
      continue;
    }
    const heading = open === "" ? headingOf(line) : undefined;
    // Skips a line with a single `#`, which may be a shell comment, if the text may begin inside a code fence.
    if (heading !== undefined && (start !== "unknown" || heading.level > 1)) found.push({ at, ...heading });
  }
  return found;
}

function* linesOf(text: string, from: number): Generator<Line> {
  for (let at = from; at < text.length;) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    yield { line: text.slice(at, end), at };
    at = end + 1;
  }
}

/** Returns how many times `sign` is repeated from the index `from` on. */
function runOf(line: string, sign: string, from: number): number {
  let end = from;
  while (line[end] === sign) end++;
  return end - from;
}

function headingOf(line: string): Omit<Heading, "at"> | undefined {
  const indent = runOf(line, " ", 0);
  const level = indent > INDENT_MAX ? 0 : runOf(line, "#", indent);
  const behind = line[indent + level];
  if (level === 0 || level > LEVEL_MAX || (behind !== " " && behind !== "\t")) return undefined;
  const whole = line.slice(indent + level).trim();
  let end = whole.length;
  while (whole[end - 1] === "#") end--;
  // A heading may end with `#` signs, too: `## Title ##`. They are not part of the title.
  const isClosed = end > 0 && end < whole.length && (whole[end - 1] === " " || whole[end - 1] === "\t");
  const title = isClosed ? whole.slice(0, end).trimEnd() : whole;
  return title === "" ? undefined : { level, title };
}

/** Returns the fence (``` or ~~~) with which a line begins. `isOpener`: the fence names a language, so it cannot close a code block. */
function fenceOf(line: string): Fence | undefined {
  const indent = runOf(line, " ", 0);
  const sign = line[indent];
  if (indent > INDENT_MAX || (sign !== "`" && sign !== "~")) return undefined;
  const length = runOf(line, sign, indent);
  const info = line.slice(indent + length).trim();
  if (length < FENCE_MIN || (sign === "`" && info.includes("`"))) return undefined;
  return { mark: sign.repeat(length), isOpener: info !== "" };
}

/** Decides if the text begins in a code block. A fence with a language opens a block; an odd number of fences before it means "inside". */
function startOf(text: string, from: number): "inside" | "outside" | "unknown" {
  const fences = [...linesOf(text, from)].flatMap(({ line }) => fenceOf(line) ?? []);
  const opener = fences.findIndex(({ isOpener }) => isOpener);
  if (fences.length === 0) return "unknown";
  return opener >= 0 && opener % 2 === 0 ? "outside" : "inside";
}
