/** `palace search QUERY`: what an agent would find, for people. */
import { connectClient } from "../../client/client.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { JsonObject, SearchMode } from "../../protocol/spec.ts";
import { type Output, printable, shorten } from "../terminal/output.ts";
import { defineVerb, readCount } from "../verb.ts";

const MODES: readonly SearchMode[] = ["auto", "lexical", "vector", "hybrid"];
const LIMIT_DEFAULT = 5;
const SNIPPET_LINES = 3;

/** A search hit as far as people see it (palace.md 2.10, search). */
type Hit = {
  drawer_id?: string;
  text?: string;
  wing?: string;
  room?: string;
  source_file?: string;
  similarity?: number | null;
  bm25_score?: number;
  weak?: boolean;
  outdated?: { fact: string; ended: string }[];
  near_duplicates?: string[];
  explain?: Explanation;
};

type Change = { factor: number; reason: string };
type Explanation = {
  score: number;
  cosine: number | null;
  bm25: { drawer: number; pairs: number; source: number; share_of_best: number };
  weights: { cosine: number; words: number; pairs: number; source: number };
  confidence: number;
  rerank?: { logit: number; place_before: number; score_before: number };
  promoted: Change[];
  demoted: Change[];
};

export const verb = defineVerb({
  usage: `palace search QUERY [--wing W] [--room R] [--limit N] [--mode auto|lexical|vector|hybrid] [--explain]

Searches the palace as an agent's tool does and shows the best ${LIMIT_DEFAULT} drawers. With --explain
each tells what its score is made of. The drawer's id, for \`palace reveal ID\` and \`palace forget ID\`, stands at the
end of its line.`,
  options: {
    wing: { type: "string" },
    room: { type: "string" },
    limit: { type: "string" },
    mode: { type: "string" },
    explain: { type: "boolean" },
  },
  args: [1, Infinity],
  run: async ({ values, args, config, out }) => {
    const mode = readMode(values.mode);
    const limit = readCount(values.limit, "limit", LIMIT_DEFAULT, 1);
    const client = await connectClient({ config, agent: "palace search", start: "auto" });
    const startedAt = performance.now();
    const found = await client.call("drawer.search", {
      query: args.join(" "),
      limit,
      mode,
      // What "yesterday" is reckoned from.
      now: new Date().toISOString(),
      ...(values.explain === true && { explain: true }),
      ...(values.wing !== undefined && { wing: values.wing }),
      ...(values.room !== undefined && { room: values.room }),
    });
    const tookMs = performance.now() - startedAt;
    client.close();
    if (typeof found["error"] === "string")
      throw new PalaceError("PROTOCOL_BAD_PARAMS", found["error"], "see `palace search --help`");
    if (out.isJson) {
      out.document(found);
      return 0;
    }
    const hits = (found["results"] ?? []) as Hit[];
    hits.forEach((hit, at) => printHit(hit, at + 1, out));
    const notice = typeof found["notice"] === "string" ? found["notice"] : "";
    // In auto, words alone are a mode like any other; who asks for meaning wants to know that he did not get it.
    if (found["vector_disabled"] === true && (mode === "vector" || mode === "hybrid"))
      for (const line of [`--mode ${mode}: ${disabledReason(found)}`, out.spelled("  palace doctor says what to do")])
        out.notice(line);
    if (hits.length === 0) out.text(notice);
    else if (notice !== "") out.notice(notice);
    out.notice(`${hits.length} found in ${tookMs.toFixed(1)} ms`);
    return 0;
  },
});

function disabledReason({ vector_disabled_reason: reason }: JsonObject): string {
  return typeof reason === "string" && reason !== "" ? printable(reason) : "no vectors answer; searching by words only";
}

function readMode(value: string | undefined): SearchMode {
  const mode = MODES.find((one) => one === (value ?? "auto"));
  if (mode !== undefined) return mode;
  throw new PalaceError(
    "CONFIG_USAGE",
    `--mode takes ${MODES.join(", ")}, not ${value ?? ""}`,
    "leave it out for auto",
  );
}

function printHit(hit: Hit, at: number, out: Output): void {
  const scores = [
    typeof hit.similarity === "number" ? `similarity ${hit.similarity.toFixed(3)}` : "",
    typeof hit.bm25_score === "number" ? `words ${hit.bm25_score.toFixed(3)}` : "",
    hit.weak === true ? "weak" : "",
    ...(hit.outdated ?? []).map(({ fact, ended }) => `outdated (${fact} ended ${ended})`),
    hit.near_duplicates === undefined ? "" : `${hit.near_duplicates.length} more like it`,
  ].filter((score) => score !== "");
  const { wing = "?", room = "?", source_file: source = "?", drawer_id: id = "" } = hit;
  if (!out.isTerminal) {
    const text = printable((hit.text ?? "").replace(/\s+/g, " ").trim());
    out.table([[at, wing, room, source, scores.join(" "), text, id]]);
    if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
    return;
  }
  out.text(`${at}. ${printable(`${wing} / ${room}  ${source}`)}  ${scores.join(", ")}  ${printable(id)}`);
  out.text(`   ${shorten(hit.text ?? "", out.columns * SNIPPET_LINES - 6)}`);
  if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
  out.text("");
}

/** The sum that the score is, in a line, and a line for each thing that changed it. */
function explanation(explain: Explanation): string[] {
  const { score, cosine, bm25, weights, confidence, rerank, promoted, demoted } = explain;
  const words =
    `${weights.words} × ${bm25.share_of_best} of the best words ` +
    `(drawer ${bm25.drawer} + ${weights.pairs} × pairs ${bm25.pairs} + ${weights.source} × source ${bm25.source})`;
  const meaning = cosine === null ? [] : [`${weights.cosine} × cosine ${cosine}`];
  return [
    `   score ${rerank?.score_before ?? score} = ${[...meaning, words].join(" + ")}; confidence ${confidence}`,
    ...(rerank === undefined
      ? []
      : [`   cross-encoder: logit ${rerank.logit}, in place ${rerank.place_before} before it; score ${score} now`]),
    ...promoted.map(({ factor, reason }) => `   promoted × ${factor}: ${reason}`),
    ...demoted.map(({ factor, reason }) => `   demoted × ${factor}: ${reason}`),
  ].map(printable);
}
