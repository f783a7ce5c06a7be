/** `palace search QUERY` prints for people what an agent would find. */
import type { Client } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { isRecord } from "../../base/parse-json.ts";
import { projectHere } from "../../base/project-names.ts";
import type { JsonObject, SearchMode } from "../../protocol/spec.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { findOriginal, hasHeadings } from "../feeding/original.ts";
import { causeOf } from "../proof/search-here.ts";
import { shortId, titleOf } from "../terminal/drawer.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import { passageOf } from "../terminal/passage.ts";
import { defineVerb, options, readChoice, readCount } from "../define-verb.ts";

const MODES: readonly SearchMode[] = ["auto", "lexical", "vector", "hybrid"];
const SCOPES = ["prefer", "strict", "all"];
const LIMIT_DEFAULT = 5;
const PASSAGE_ROWS = 5;
const TITLE_COLUMNS_MAX = 100;
const INDENT = "   ";
const COLUMNS_MIN = 20;
/** Number of slices to fetch around a hit, to show the heading above the hit and to complete lines that were cut. */
const SLICES_AROUND = 5;

type Slice = { text: string; chunk_index?: number };
type HitName = "drawer_id" | "text" | "wing" | "room" | "source_file" | "source_path" | "superseded_by";
/** Fields of a search hit that people see (palace.md 2.10, search). */
type Hit = Partial<Record<HitName, string>> & {
  neighbors?: { before: Slice[]; after: Slice[] };
  similarity?: number | null;
  bm25_score?: number;
  matched_via?: string;
  weak?: boolean;
  outdated?: { fact: string; ended: string }[];
  near_duplicates?: string[];
  same_exchange?: string[];
  explain?: Explanation;
};

type Change = { factor: number; reason: string };
type Explanation = {
  score: number;
  cosine: number | null;
  static_cosine: number | null;
  identifiers_held: number;
  names_held: number;
  file_score: number;
  bm25: { drawer: number; pairs: number; source: number; share_of_best: number };
  weights: Record<"cosine" | "meaning" | "words" | "pairs" | "source" | "identifiers" | "names", number>;
  confidence: number;
  rerank?: { logit: number; place_before: number; score_before: number };
  promoted: Change[];
  demoted: Change[];
};

export const verb = defineVerb({
  usage: `palace search QUERY [--wing W] [--room R] [--scope prefer|strict|all] [--limit N] [--mode auto|lexical|vector|hybrid] [--explain]

Searches the palace as an agent's tool does and shows the best ${LIMIT_DEFAULT} drawers: on a terminal the passage around the
matching words with its file, line and heading, in a pipe one line with the whole text. Each says how it was found, by words or by
meaning, and has a short id for \`palace show ID\`, \`palace edit ID\` and \`palace rm ID\`. --explain shows the parts of each score.

Without --wing, drawers of this folder's project come before equally good drawers. The project may have the folder's name, its git
repository's or the remote's, or mempalace.yaml's wing, in any spelling. --scope strict searches only that project; --scope all prefers
no project.`,
  options: options("wing= room= scope= limit= mode= explain"),
  args: [1, Infinity],
  run: async ({ values, args, config, connect, out }) => {
    const mode = readChoice(values.mode, "mode", MODES, "auto");
    const limit = readCount(values.limit, "limit", LIMIT_DEFAULT, 1);
    const project = projectHere(config.model.userHome);
    checkScope(values, project);
    const client = await connect("palace search", project);
    const startedAt = performance.now();
    const found = await client.call("drawer.search", {
      query: args.join(" "),
      limit,
      mode,
      // Reference time for words such as "yesterday".
      now: new Date().toISOString(),
      ...(values.explain === true && { explain: true }),
      ...(out.isTerminal && !out.isJson && { neighbors: SLICES_AROUND }),
      ...(values.scope !== undefined && { scope: values.scope }),
      ...(values.wing !== undefined && { wing: values.wing }),
      ...(values.room !== undefined && { room: values.room }),
    });
    const tookMs = performance.now() - startedAt;
    const skipped = mode === "lexical" ? [] : await meaningSkipped(client, found, mode);
    if (typeof found["error"] === "string")
      throw new PalaceError("PROTOCOL_BAD_PARAMS", found["error"], "see `palace search --help`");
    if (values.scope === "strict" && values.wing === undefined && found["scope"] === undefined) throw TOO_OLD;
    // The broker writes its hints for agents, so we rewrite the option for people.
    const hint = typeof found["hint"] === "string" ? found["hint"].replace("scope=all", "--scope all") : "";
    if (out.isJson) return out.document(found);
    const hits = (found["results"] ?? []) as Hit[];
    hits.forEach((hit, at) =>
      out.isTerminal ? showHit(hit, at + 1, args.join(" "), config, out) : printHit(hit, at + 1, config, out),
    );
    const notice = typeof found["notice"] === "string" ? found["notice"] : "";
    const told = [hint, notice].filter((line) => line !== "");
    if (hits.length === 0) out.text(printable(told.join(". ")));
    else for (const line of told) out.notice(line);
    for (const line of skipped) out.hint(line);
    out.notice(`${hits.length} found in ${tookMs.toFixed(1)} ms${scopeNote(found)}`);
    return 0;
  },
});

const TOO_OLD = new PalaceError(
  "PROTOCOL_VERSION_MISMATCH",
  "the running broker is too old for --scope, and has searched everywhere",
  "palace restart",
);

/** Errors: CONFIG_USAGE for an unknown scope, or for a scope that needs a project if the folder is not in one. */
function checkScope({ scope, wing }: { scope?: string; wing?: string }, project: readonly string[]): void {
  if (readChoice(scope, "scope", SCOPES, "prefer") === "strict" && wing === undefined && project.length === 0)
    throw wrongUsage("this folder is not a project", "go to a project's folder, or use --wing W");
}

/** Returns a note if the search preferred the folder's project, or searched only that project; else an empty text. */
function scopeNote({ scope }: JsonObject): string {
  const { wings, strict } = isRecord(scope) ? scope : {};
  if (!Array.isArray(wings) || wings.length === 0) return "";
  const named = `${wings.length === 1 ? "wing" : "wings"} ${wings.map((wing) => printable(String(wing))).join(", ")}`;
  return strict === true ? `, in ${named} only` : `, ${named} first (--scope all treats all alike)`;
}

/** Returns a line that says why some drawers were not searched by meaning; no line if all were. */
async function meaningSkipped(client: Client, found: JsonObject, mode: SearchMode): Promise<string[]> {
  const asked = mode === "auto" ? "" : `--mode ${mode}: `;
  if (found["vector_disabled"] === true) {
    const { vector_disabled_reason: reason } = found;
    const cause = typeof reason === "string" && reason !== "" ? causeOf(reason) : "no vectors answer";
    return [`${asked}searched without the model: ${cause}; palace doctor says what to do`];
  }
  const { pending, embedded, modelState } = (await client.call("palace.status", {})).search;
  if (pending === 0 || modelState === "extra") return [];
  return [`${pending} of ${plural(pending + embedded, "drawer")} wait for the model's vectors`];
}

/** Prints a hit for a program, with the whole text on one line. */
function printHit(hit: Hit, at: number, config: Config, out: Output): void {
  const { wing = "?", room = "?", drawer_id: id = "", source_path: path = "" } = hit;
  const source = path === "" ? titleOf(hit.text ?? "", TITLE_COLUMNS_MAX) : shownSource(config, path);
  const text = printable((hit.text ?? "").replace(/\s+/g, " ").trim());
  out.table([[at, wing, room, source, notesOn(hit).join(", "), text, id]]);
  if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
}

/** Prints a hit for a person, with the passage around the matching words. */
function showHit(hit: Hit, at: number, query: string, config: Config, out: Output): void {
  const { wing = "?", room = "?", drawer_id: id = "", text = "", source_path: path = "", neighbors } = hit;
  const columns = Math.max(out.columns - INDENT.length, COLUMNS_MIN);
  const original = path === "" ? undefined : findOriginal(config, path, text);
  const { heading, line, lines } = passageOf(text, query, {
    columns,
    rows: PASSAGE_ROWS,
    before: (neighbors?.before ?? []).map((slice) => slice.text),
    after: (neighbors?.after ?? []).map((slice) => slice.text),
    isFromStart: (neighbors?.before[0]?.chunk_index ?? 0) === 0,
    document: original,
    hasHeadings: hasHeadings(path),
  });
  const place = `${INDENT}${printable(`${wing} / ${room}`)}  ${notesOn(hit).join(", ")}  ${printable(shortId(id))}`;
  // A note of one line gets no title; the line itself is printed, with its matches marked.
  const [only = []] = lines;
  if (path === "" && lines.length === 1) {
    out.styled([[{ text: `${at}. `, isMatch: false }, ...only]], "");
    out.text(place);
  } else {
    const source =
      path === ""
        ? titleOf(text, Math.min(columns, TITLE_COLUMNS_MAX))
        : original === undefined
          ? shownSource(config, path)
          : `${original.path}:${String(line)}`;
    out.text(`${at}. ${printable(`${source}${heading === undefined || path === "" ? "" : ` › ${heading}`}`)}`);
    out.text(place);
    out.styled(lines, INDENT);
  }
  if (hit.explain !== undefined) out.text(explanation(hit.explain).join("\n"));
  out.text("");
}

function notesOn(hit: Hit): string[] {
  const byMeaning = typeof hit.similarity === "number" && hit.similarity > 0;
  const byWords = typeof hit.bm25_score === "number" && hit.bm25_score > 0;
  return [
    byMeaning
      ? `by meaning, ${(hit.similarity ?? 0).toFixed(2)}${byWords ? ", and by words" : ""}`
      : byWords
        ? "by words"
        : hit.matched_via === "static_vector"
          ? "by meaning"
          : "",
    hit.weak === true ? "a weak match" : "",
    ...(hit.outdated ?? []).map(({ fact, ended }) => `outdated (${fact} ended ${ended})`),
    hit.superseded_by === undefined ? "" : `replaced by ${shortId(hit.superseded_by)}`,
    hit.near_duplicates === undefined ? "" : `${hit.near_duplicates.length} more like it`,
    hit.same_exchange === undefined ? "" : `${hit.same_exchange.length} more of this exchange`,
  ].filter((note) => note !== "");
}

function explanation(explain: Explanation): string[] {
  const {
    score,
    cosine,
    static_cosine: meaning,
    identifiers_held: identifiers,
    names_held: names,
    file_score: file,
    bm25,
    weights,
    confidence,
    rerank,
    promoted,
    demoted,
  } = explain;
  const words =
    `${weights.words} × ${bm25.share_of_best} of the best words ` +
    `(drawer ${bm25.drawer} + ${weights.pairs} × pairs ${bm25.pairs} + ${weights.source} × source ${bm25.source})`;
  const near = [
    ...(cosine === null ? [] : [`${weights.cosine} × cosine ${cosine}`]),
    ...(meaning === null ? [] : [`${weights.meaning} × static cosine ${meaning}`]),
  ];
  const named = [
    ...(identifiers > 0 ? [`${weights.identifiers} × ${identifiers} of the identifiers`] : []),
    ...(names > 0 ? [`${weights.names} × ${names} of the words in its names`] : []),
    ...(file > 0 ? [`${file} for its file's name`] : []),
  ];
  return [
    `   score ${rerank?.score_before ?? score} = ${[...near, words, ...named].join(" + ")}; confidence ${confidence}`,
    ...(rerank === undefined
      ? []
      : [`   cross-encoder: logit ${rerank.logit}, in place ${rerank.place_before} before it; score ${score} now`]),
    ...promoted.map(({ factor, reason }) => `   promoted × ${factor}: ${reason}`),
    ...demoted.map(({ factor, reason }) => `   demoted × ${factor}: ${reason}`),
  ].map(printable);
}
