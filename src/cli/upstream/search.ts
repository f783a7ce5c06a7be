/** `mempalace search QUERY` searches with our engine and prints as upstream does. */
import { basename } from "node:path";
import { printable } from "../terminal/output.ts";
import { defineVerb, options, readChoice, readCount } from "../define-verb.ts";
import { explainNoPalace, isWithoutPalace, pythonFloat } from "./format.ts";

const WIDTH = 60;
const EXIT_FAILED = 1;

type Hit = {
  text?: string;
  wing?: string;
  room?: string;
  source_file?: string;
  /** Absolute path; empty if the drawer was not filed from a file. */
  source_path?: string | null;
  similarity?: number | null;
  bm25_score?: number;
};

export const verb = defineVerb({
  usage: `mempalace search QUERY [--wing W] [--room R] [--results N] [--since T] [--before T]

Finds drawers and prints their exact words. Exit code 1 without a palace; 0 even if nothing is found.`,
  options: options("wing= room= results= since= before= query-task= include-media"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [query = ""], config, connect, out }) => {
    const { wing, room, since, before } = values;
    const limit = readCount(values.results, "results", 5, 1);
    const task = readChoice(values["query-task"], "query-task", ["search", "code"], undefined);
    const asked = {
      ...(task !== undefined && { query_task: task }),
      ...(values["include-media"] === true && { include_media: true }),
    };
    if (isWithoutPalace(config, out)) return EXIT_FAILED;
    const client = await connect("mempalace search");
    const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
    const window = { ...(since !== undefined && { since }), ...(before !== undefined && { before }) };
    const found = (await client.callTool("mempalace_search", { query, limit, ...place, ...window, ...asked })) as {
      error?: string;
      hint?: string;
      filters?: { wing: string | null; room: string | null };
      results?: Hit[];
    };
    if (out.isJson) out.document(found);
    else if (found.error === "No palace found") explainNoPalace(out, config.paths.palaceDir);
    else if (found.error !== undefined) out.text(`\n  Search error: ${printable(found.error)}`);
    if (found.error !== undefined) return EXIT_FAILED;
    if (out.isJson) return 0;
    const hits = found.results ?? [];
    if (found.hint !== undefined) out.notice(found.hint);
    if (hits.length === 0) {
      out.text(`\n  No results found for: "${printable(query)}"`);
      return 0;
    }
    const filters = [
      ...(wing === undefined ? [] : [`Wing: ${found.filters?.wing ?? wing}`]),
      ...(room === undefined ? [] : [`Room: ${found.filters?.room ?? room}`]),
    ];
    const head = [`Results for: "${query}"`, ...filters].map((line) => `  ${printable(line)}`);
    out.text(`\n${"=".repeat(WIDTH)}\n${head.join("\n")}\n${"=".repeat(WIDTH)}\n`);
    hits.forEach((hit, at) => out.text(describe(hit, at + 1)));
    out.text("");
    return 0;
  },
});

function describe({ text = "", wing = "?", room = "?", ...hit }: Hit, at: number): string {
  const source = hit.source_path ?? hit.source_file ?? "?";
  const bm25 = pythonFloat(hit.bm25_score ?? 0);
  const match =
    typeof hit.similarity === "number"
      ? `cosine_sim=${pythonFloat(hit.similarity)}  bm25=${bm25}`
      : `bm25=${bm25}  (vector disabled)`;
  // Keeps the text's lines and tabs. Every other control character becomes U+FFFD, because it could move the cursor.
  const lines = text
    .trim()
    .split("\n")
    .map((line) => `      ${line.replace(/[^\t\P{Cc}]/gu, "\uFFFD")}`);
  return [
    `  [${at}] ${printable(wing)} / ${printable(room)}`,
    `      Source: ${printable(basename(source))}`,
    `      Match:  ${match}`,
    "",
    ...lines,
    "",
    `  ${"-".repeat(WIDTH - 4)}`,
  ].join("\n");
}
