/** Checks the search tool's arguments as upstream does, and answers in upstream's form (palace.md 2.10, upstream-latest.md 2.1). */
import type { PlaceFilter } from "../port/drawer.ts";
import type { SearchMode } from "../../protocol/spec.ts";
import { withOriginals } from "../drawer/originals.ts";
import { codePointLength } from "../text/text.ts";
import { clampLimit, InvalidValue, validFilter, validSourceFilter, WrongType } from "../text/validate.ts";
import { validBound, validWindow, type Window } from "../text/window.ts";
import { cliOutput } from "./cli-output.ts";
import { verdictOn } from "./confidence.ts";
import { type Resolved, resolvePlace, resolveSource } from "./filter-names.ts";
import { NEIGHBORS_MAX } from "./neighbors.ts";
import { partsOf, sanitizeQuery } from "./query-sanitizer.ts";
import { scopeOf } from "./scope.ts";
import { search, type SearchAnswer, type SearchDependencies, type SearchRequest } from "./search.ts";

type Arguments = Record<string, unknown>;

const DISTANCE_MAX = 1.5;

/** Answers a search. Only our own command line sends a `mode` other than auto. Errors: InvalidValue for an invalid wing, room or source. */
export async function searchTool(
  dependencies: SearchDependencies,
  values: Arguments,
  mode: SearchMode,
): Promise<Record<string, unknown>> {
  const askedPlace = placeFilter(values);
  const sourceFile = validSourceFilter(values["source_file"]);
  const unsupported = unsupportedSearch(values);
  if (unsupported !== undefined) return unsupported;
  const asked = queryOf(values["query"]);
  const sanitized = sanitizeQuery(asked);
  const isForCli = Boolean(values["cli_compatible"]);
  if (isForCli && sanitized.query !== asked) return { error: "cli-compatible search requires an unchanged query" };
  const extras = {
    ...sanitizerReport(sanitized),
    ...(typeof values["context"] === "string" && values["context"] !== "" && { context_received: true }),
  };
  if (isMediaSearch(values)) return { ...NO_MEDIA, ...extras };
  // The answer describes the cleaned query even if a time bound is invalid, as upstream's does.
  const times = timesOrError(values);
  if ("error" in times) return { ...times, ...extras };
  const { window, now } = times;
  const place = resolvePlace(dependencies.reader, askedPlace);
  const source = sourceFilter(dependencies, sourceFile, place);
  const scope = scopeOf(dependencies, values, askedPlace);
  if ("error" in scope) return { ...scope, ...extras };
  const filter = { ...place.filter, ...source.filter, ...window, ...scope.filter };
  const request = {
    query: sanitized.query,
    parts: partsOf(asked, sanitized),
    filter,
    ...boundsOf(values, isForCli),
    mode,
    now,
    preferred: scope.preferred,
  };
  const found = await search(dependencies, request);
  const { files } = dependencies;
  const answer = files === undefined ? found : { ...found, hits: withOriginals(found.hits, files) };
  const { since = null, before = null } = values;
  const { wing = null, room = null } = place.filter;
  const isMissed = place.isMissed || source.isMissed;
  const missed = answer.hits.length === 0 && !isMissed ? scope.missed : undefined;
  const told = hintOf([...place.hints, ...source.hints, ...(missed === undefined ? [] : [missed])]);
  if (isForCli)
    return { query: asked, cli_output: cliOutput(asked, { wing, room, since, before }, answer.hits), ...told };
  // If the user gave a source's exact name, the answer shows that name, not the name of its staged copy.
  const filters = {
    wing,
    room,
    source_file: (source.hints.length > 0 ? source.filter.sourceFile : sourceFile) ?? null,
    since,
    before,
  };
  const payload = answerPayload(answer, request.explain, isMissed || missed !== undefined);
  return { query: sanitized.query, filters, ...scope.told, ...payload, ...told, ...extras };
}

function boundsOf(
  values: Arguments,
  isForCli: boolean,
): Pick<SearchRequest, "limit" | "distanceMax" | "explain" | "neighbors"> {
  const distanceMax = typeof values["max_distance"] === "number" ? values["max_distance"] : DISTANCE_MAX;
  return {
    limit: clampLimit(values["limit"], 5),
    distanceMax: isForCli ? 0 : distanceMax,
    explain: values["explain"] === true,
    neighbors: neighborCount(values["neighbors"]),
  };
}

/** Resolves a source, unless the wing or room is unknown, because then no drawer can be found. */
function sourceFilter(
  dependencies: SearchDependencies,
  asked: string | undefined,
  { filter, isMissed }: Resolved<PlaceFilter>,
): Resolved<{ sourceFile?: string }> {
  if (asked === undefined || isMissed)
    return { filter: asked === undefined ? {} : { sourceFile: asked }, hints: [], isMissed: false };
  return resolveSource(dependencies, asked, filter);
}

export function hintOf(hints: readonly string[]): { hint?: string } {
  return hints.length === 0 ? {} : { hint: hints.join("; ") };
}

/** Notes in the answer to a question about everything, by the kind of question. */
const SPREADS = {
  order: "Best first, spread over the conversations; authored_at gives the order in time.",
  all: "Best first, spread over the conversations.",
};

function answerPayload(answer: SearchAnswer, explain: boolean, isMissed: boolean): Record<string, unknown> {
  const { hits, candidates, vectorDisabledReason, phrases, reranked, spread } = answer;
  return {
    total_before_filter: candidates,
    results: hits,
    ...verdictOn(hits, phrases, isMissed),
    ...(answer.isTruncated && { distinct_results_truncated: true }),
    ...(phrases !== undefined && { phrases }),
    ...(spread !== undefined && hits.length > 0 && { spread: SPREADS[spread] }),
    ...(explain && { reranked }),
    ...(vectorDisabledReason !== undefined && {
      vector_disabled: true,
      vector_disabled_reason: vectorDisabledReason,
      ...(candidates > 0 && { fallback: "bm25_only_via_sqlite", fallback_reason: "vector_search_disabled" }),
    }),
  };
}

export function placeFilter(values: Arguments): PlaceFilter {
  const wing = validFilter(values["wing"], "wing");
  const room = validFilter(values["room"], "room");
  return { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
}

/** Throws WrongType for a query that is not a string, as upstream does. */
function queryOf(given: unknown): string {
  if (given === undefined || given === null) return "";
  if (typeof given !== "string") throw new WrongType("query must be a string");
  return given;
}

function neighborCount(value: unknown): number {
  return typeof value === "number" ? Math.max(0, Math.min(NEIGHBORS_MAX, Math.trunc(value))) : 0;
}

function timesOrError(values: Arguments): { window: Window; now: string | undefined } | { error: string } {
  try {
    return { window: validWindow(values), now: validBound(values["now"], "now") };
  } catch (error) {
    if (error instanceof InvalidValue) return { error: error.message };
    throw error;
  }
}

function sanitizerReport({ query, method, originalLength }: ReturnType<typeof sanitizeQuery>): object {
  if (method === "passthrough") return {};
  return {
    query_sanitized: true,
    sanitizer: {
      method,
      original_length: originalLength,
      clean_length: codePointLength(query),
      clean_query: query,
    },
  };
}

/** Arguments that upstream's command line does not have, so `cli_compatible` excludes them. */
const NOT_FOR_CLI = ["candidate_strategy", "max_distance", "context"] as const;

const NO_MEDIA = {
  error: "Media and code task search require embedding_model='embeddinggemma2'",
  hint: "Use the isolated embeddinggemma2 palace and compatible indexes.",
};

function isMediaSearch({ include_media: media, query_task: task }: Arguments): boolean {
  return media === true || task === "code";
}

function unsupportedSearch(values: Arguments): { error: string } | undefined {
  const { candidate_strategy: strategy, include_media: media, query_task: task, cli_compatible: cli } = values;
  if (strategy && strategy !== "vector" && strategy !== "union")
    return { error: "candidate_strategy must be one of ('vector', 'union')" };
  if (
    (media !== undefined && typeof media !== "boolean") ||
    (task !== undefined && task !== "search" && task !== "code")
  )
    return { error: "include_media must be boolean and query_task must be 'search' or 'code'" };
  if (cli && isMediaSearch(values)) return { error: "cli_compatible cannot be combined with media/code task search" };
  if (!cli) return undefined;
  if (validSourceFilter(values["source_file"]) !== undefined)
    return { error: "cli-compatible search does not support source_file" };
  const isGiven = (key: (typeof NOT_FOR_CLI)[number]): boolean =>
    key === "candidate_strategy" ? strategy === "union" : values[key] !== undefined && values[key] !== null;
  const refused = NOT_FOR_CLI.filter(isGiven);
  return refused.length > 0 ? { error: `cli-compatible search does not support ${refused.join(", ")}` } : undefined;
}
