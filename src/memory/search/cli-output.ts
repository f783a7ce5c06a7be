/** Formats a search's answer as upstream's command line prints it. MemPalace 3.11's command line requests this by `cli_compatible`. */
import { pythonFloat, strip } from "../text/text.ts";
import type { AlsoIn } from "./also-in.ts";

const WIDTH = 60;
/** Maximum number of other sources that are listed with a hit. */
const COPIES_SHOWN = 5;

export type AskedFor = { wing: unknown; room: unknown; since: unknown; before: unknown };

export function cliOutput(query: string, asked: AskedFor, hits: readonly Record<string, unknown>[]): string {
  if (hits.length === 0) return `\n  No results found for: "${query}"\n`;
  const { wing, room, since, before } = asked;
  const filters = Object.entries({ Wing: wing, Room: room, Since: since, Before: before });
  const rule = "=".repeat(WIDTH);
  return [
    "",
    rule,
    `  Results for: "${query}"`,
    ...filters.flatMap(([name, value]) => (value ? [`  ${name}: ${String(value)}`] : [])),
    rule,
    "",
    ...hits.flatMap((hit, at) => describe(hit, at + 1)),
    "",
    "",
  ].join("\n");
}

function describe(hit: Record<string, unknown>, at: number): string[] {
  const { text, wing, room, source_path: source, similarity, bm25_score: words, also_in: copies } = hit;
  const bm25 = pythonFloat(Number(words ?? 0));
  const match =
    typeof similarity === "number"
      ? `cosine_sim=${pythonFloat(similarity)}  bm25=${bm25}`
      : `bm25=${bm25}  (vector disabled)`;
  return [
    `  [${at}] ${String(wing)} / ${String(room)}`,
    `      Source: ${String(source).split("/").at(-1) ?? ""}`,
    ...(Array.isArray(copies) ? [`      Also in: ${namesOf(copies as AlsoIn[])}`] : []),
    `      Match:  ${match}`,
    "",
    ...strip(String(text))
      .split("\n")
      .map((line) => `      ${line}`),
    "",
    `  ${"-".repeat(WIDTH - 4)}`,
  ];
}

function namesOf(copies: readonly AlsoIn[]): string {
  const shown = copies.slice(0, COPIES_SHOWN).map(({ source_file: name }) => name);
  const left = copies.length - shown.length;
  return `${shown.join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}
