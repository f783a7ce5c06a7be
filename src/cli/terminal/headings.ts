/** Finds the markdown heading above a position. A `#` in a code fence or front matter is a comment. Pure. */
import { shorten } from "./output.ts";

export type Heading = { at: number; title: string };

const LINE = /[^\n]*(?:\n|$)/g;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$/;
const FRONT_MATTER = /^---\n[\s\S]*?\n---(?:\n|$)/;
const HEADING_MAX = 120;

type Fence = { mark: string; isOpener: boolean };

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
      found.push({ at, title: shorten(title, HEADING_MAX) });
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
