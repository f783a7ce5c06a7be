/**
 * Finds the markdown heading above a position. A `#` inside a code fence or a front matter is a comment. Pure. Used by
 * passage.ts.
 */
import { shorten } from "./output.ts";

export type Heading = { at: number; title: string };

const LINE = /[^\n]*(?:\n|$)/g;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$/;
const FRONT_MATTER = /^---\n[\s\S]*?\n---(?:\n|$)/;
const HEADING_MAX = 120;

type Fence = { mark: string; isOpener: boolean };

/** `isFromStart`: the text begins where its document does; otherwise it may begin in mid-line, and inside a fence. */
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
    // A single sign may be a shell's comment if the state is only a guess.
    if (open === "" && title !== "" && (start !== "unknown" || signs.length > 1))
      found.push({ at, title: shorten(title, HEADING_MAX) });
  }
  return found;
}

/** A fence with a language can only open. */
function fenceOf(line: string): Fence | undefined {
  const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
  if (mark === "" || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { mark, isOpener: info !== "" };
}

/** The first fence that can only open tells whether the text begins inside of one. */
function startOf(fences: readonly (Fence | undefined)[]): "inside" | "outside" | "unknown" {
  const seen = fences.filter((fence) => fence !== undefined);
  const opener = seen.findIndex(({ isOpener }) => isOpener);
  if (seen.length === 0) return "unknown";
  if (opener >= 0) return opener % 2 === 0 ? "outside" : "inside";
  return "inside";
}
