/**
 * Finds the headings of a Markdown text. A `#` in a code fence or front matter is a comment. Pure. Used when a document is filed, and by
 * the terminal.
 */
import { extname } from "node:path";

/** `at`: UTF-16 offset of the heading's line. `level`: 1 to 6. */
export type Heading = { at: number; level: number; title: string };

/** Endings of files in which a # at the beginning of a line makes a heading. */
const MARKDOWN = new Set(["", ".md", ".markdown", ".mdx", ".mkd", ".qmd", ".rmd"]);

const LINE = /[^\n]*(?:\n|$)/g;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$/;
const FRONT_MATTER = /^---\n[\s\S]*?\n---(?:\n|$)/;
/** Longest text of all headings above one drawer, in characters. */
const ABOVE_MAX = 400;

type Fence = { mark: string; isOpener: boolean };

/** Returns true if the source may have headings. A note has no source, and its text counts as Markdown. */
export function hasHeadings(source: string): boolean {
  return MARKDOWN.has(extname(source).toLowerCase());
}

/**
 * Returns a function that gives the headings above a position, the outermost first, as one line. A heading at the position itself is not
 * among them. Positions must be asked in rising order.
 */
export function headingsAbove(text: string): (position: number) => string {
  const headings = headingsOf(text, true);
  const above: Heading[] = [];
  let next = 0;
  return (position) => {
    for (let heading = headings[next]; heading !== undefined && heading.at <= position; heading = headings[++next]) {
      while ((above.at(-1)?.level ?? 0) >= heading.level) above.pop();
      above.push(heading);
    }
    return above
      .filter(({ at }) => at < position)
      .map(({ title }) => title)
      .join(" ")
      .slice(0, ABOVE_MAX);
  };
}

/** Returns the headings. `isFromStart`: the text begins where its document begins, not inside a line or a fence. */
export function headingsOf(text: string, isFromStart: boolean): Heading[] {
  const frontMatter = isFromStart ? (FRONT_MATTER.exec(text)?.[0].length ?? 0) : 0;
  const lines = [...text.matchAll(LINE)]
    .map(({ 0: line, index }) => ({ line: line.replace(/\n$/, ""), at: index }))
    .filter(({ at }) => at >= frontMatter && (isFromStart || at > 0));
  const fences = lines.map(({ line }) => fenceOf(line));
  const start = isFromStart ? "outside" : startOf(fences);
  let open = start === "inside" ? "any" : "";
  const found: Heading[] = [];
  for (const [index, { line, at }] of lines.entries()) {
    const fence = fences[index];
    if (fence !== undefined) {
      if (open === "") open = fence.mark;
      else if (!fence.isOpener && (open === "any" || fence.mark.startsWith(open))) open = "";
      continue;
    }
    const [, signs = "", title = ""] = HEADING.exec(line) ?? [];
    // If we only guess whether a fence is open, a single `#` may be a comment of a shell.
    if (open === "" && title !== "" && (start !== "unknown" || signs.length > 1))
      found.push({ at, level: signs.length, title });
  }
  return found;
}

/** Returns the fence of a line. A fence with a language can only open. */
function fenceOf(line: string): Fence | undefined {
  const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
  if (mark === "" || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { mark, isOpener: info !== "" };
}

/** Decides whether the text begins inside a fence, by the first fence that can only open. */
function startOf(fences: readonly (Fence | undefined)[]): "inside" | "outside" | "unknown" {
  const seen = fences.filter((fence) => fence !== undefined);
  const opener = seen.findIndex(({ isOpener }) => isOpener);
  if (seen.length === 0) return "unknown";
  if (opener >= 0) return opener % 2 === 0 ? "outside" : "inside";
  return "inside";
}
