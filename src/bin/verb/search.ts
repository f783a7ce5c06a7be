/** `palace search QUERY`: prints for people what an agent would find. */
import { connectClient } from "../../client/client.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { JsonObject, SearchMode } from "../../protocol/spec.ts";
import { shownSource } from "../feeding/came-from.ts";
import { type Output, printable } from "../terminal/output.ts";
import { passageOf } from "../terminal/passage.ts";
import { tellAbsentWing } from "../terminal/wing.ts";
import { defineVerb, readCount } from "../verb.ts";

const MODES: readonly SearchMode[] = ["auto", "lexical", "vector", "hybrid"];
const LIMIT_DEFAULT = 5;
const PASSAGE_ROWS = 4;
const INDENT = "   ";
const COLUMNS_MIN = 20;
/** Slices of the same source around a hit, to find its heading and words that were cut. */
const SLICES_AROUND = 5;

type Slice = { text: string };
/** The fields of a search hit that people see (palace.md 2.10, search). */
type Hit = {
  drawer_id?: string;
  text?: string;
  wing?: string;
  room?: string;
  source_file?: string;
  source_path?: string;
  neighbors?: { before: Slice[]; after: Slice[] };
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

Searches the palace as an agent's tool does and shows the best ${LIMIT_DEFAULT} drawers: on a terminal the passage around the
matching words with its file and heading, in a pipe a line with all of the text. With --explain each tells what its score is made of. The drawer's id, for \`palace reveal ID\` and \`palace forget ID\`, stands at the
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
      // Reference time for words such as "yesterday".
      now: new Date().toISOString(),
      ...(values.explain === true && { explain: true }),
      ...(out.isTerminal && !out.isJson && { neighbors: SLICES_AROUND }),
      ...(values.wing !== undefined && { wing: values.wing }),
      ...(values.room !== undefined && { room: values.room }),
    });
    const tookMs = performance.now() - startedAt;
    const isEmpty = !Array.isArray(found["results"]) || found["results"].length === 0;
    if (values.wing !== undefined && isEmpty) await tellAbsentWing(client, values.wing, out);
    client.close();
    if (typeof found["error"] === "string")
      throw new PalaceError("PROTOCOL_BAD_PARAMS", found["error"], "see `palace search --help`");
    if (out.isJson) {
      out.document(found);
      return 0;
    }
    const hits = (found["results"] ?? []) as Hit[];
    const sourceOf = ({ source_path: path = "", source_file: name = "?" }: Hit): string =>
      path === "" ? name : shownSource(config, path);
    hits.forEach((hit, at) =>
      out.isTerminal
        ? showHit(hit, at + 1, { query: args.join(" "), source: sourceOf(hit) }, out)
        : printHit(hit, at + 1, sourceOf(hit), out),
    );
    const notice = typeof found["notice"] === "string" ? found["notice"] : "";
    // In auto mode a search by words alone is a normal result; a user who asks for vectors must hear that there were none.
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

/** Prints one line of fields, with the whole text. */
function printHit(hit: Hit, at: number, source: string, out: Output): void {
  const { wing = "?", room = "?", drawer_id: id = "" } = hit;
  const text = printable((hit.text ?? "").replace(/\s+/g, " ").trim());
  out.table([[at, wing, room, source, notesOn(hit).join(" "), text, id]]);
  if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
}

/** Prints for a person: where it is filed, then the passage around the matching words. */
function showHit(hit: Hit, at: number, { query, source }: { query: string; source: string }, out: Output): void {
  const { wing = "?", room = "?", drawer_id: id = "", text = "", neighbors } = hit;
  const columns = Math.max(out.columns - INDENT.length, COLUMNS_MIN);
  const [before, after] = [neighbors?.before ?? [], neighbors?.after ?? []].map((side) =>
    side.map((slice) => slice.text),
  );
  const { heading, lines } = passageOf(text, query, {
    columns,
    rows: PASSAGE_ROWS,
    before: before ?? [],
    after: after ?? [],
  });
  const place = printable(`${source}${heading === undefined ? "" : ` › ${heading}`}`);
  out.text(`${at}. ${place}`);
  out.text(`${INDENT}${printable(`${wing} / ${room}`)}  ${notesOn(hit).join(", ")}  ${printable(id)}`);
  out.styled(lines, INDENT);
  if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
  out.text("");
}

function notesOn(hit: Hit): string[] {
  return [
    typeof hit.similarity === "number" ? `similarity ${hit.similarity.toFixed(3)}` : "",
    typeof hit.bm25_score === "number" ? `words ${hit.bm25_score.toFixed(3)}` : "",
    hit.weak === true ? "weak" : "",
    ...(hit.outdated ?? []).map(({ fact, ended }) => `outdated (${fact} ended ${ended})`),
    hit.near_duplicates === undefined ? "" : `${hit.near_duplicates.length} more like it`,
  ].filter((note) => note !== "");
}

/** Explains the score: its sum in one line, and one line for each adjustment. */
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
