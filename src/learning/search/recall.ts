/** Answers `search_memory` and `get_context_insights` (outcome-memory.md 3.8, 5.2, 5.8). */
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { InvalidValue, asText } from "../../memory/text/validate.ts";
import { searchedPart } from "../../protocol/searched-part.ts";
import { asksNothing } from "../../protocol/small-talk.ts";
import { asksForRecent, type Filters, type Sort, sorted, SORTS, unknownOperator } from "./filters.ts";
import { type FindContext, findMemories, type FindRequest, type Found } from "./find-memories.ts";
import { facts as factsOf, listMemories } from "../memory/list-memories.ts";
import { CHARACTERS_MAX, OPEN_TO, quoted } from "../turn/injection.ts";
import { bestOf } from "./likeness.ts";
import { type Collection, isCollection, plainId } from "../memory/memory.ts";
import { age, pastSigns } from "../memory/described.ts";
import type { OwnSearches } from "./recent-searches.ts";
import { findShown, isoTime, type Memory, toMemory } from "../memory/as-drawer.ts";
import { wilson } from "../scoring/wilson.ts";

const DAY_MS = 86_400_000;
const USUAL_LIMIT = 5;
const LIMIT_MAX = 20;
export const DAYS_MAX = 365;
const FIELDS_MAX = 20;
const VALUES_MAX = 100;
/** Number of candidates per call. It is large enough to include the best of each collection. */
const CANDIDATES = 20;

type Values = Record<string, unknown>;
export type RecallContext = FindContext & { own: OwnSearches };

export async function searchMemory(context: RecallContext, values: Values, nowMs: number): Promise<string> {
  const query = searchedPart(asText(values["query"] ?? "").trim());
  const { id } = values;
  if (typeof id === "string" && id !== "") return lookUp(context, id, query === "" ? "search" : query, nowMs);
  const days = within(values["days_back"], "days_back", DAYS_MAX);
  if (query === "" && days === undefined) return "Provide at least one of: query, days_back, or id";
  const limit = within(values["limit"], "limit", LIMIT_MAX) ?? USUAL_LIMIT;
  const filters = readFilters(values["metadata"], days, nowMs);
  const sort = readSort(values["sort_by"]) ?? usualSort(query, days);
  const request = { query, ...readCollections(values["collections"]), limit, filters, nowMs };
  const found = await findOrList(context, request, sort);
  const described = query === "" ? `last ${days} days` : query;
  if (found.length === 0) return `No results found for '${cut(described)}'.`;
  return listed(described, found, nowMs);
}

export async function findOrList(context: RecallContext, request: FindRequest, sort: Sort): Promise<Memory[]> {
  if (request.query === "")
    return sorted((await listMemories(context, request)).map(sortable), sort).slice(0, request.limit);
  const found = await findMemories(context, request);
  noteSearch(context, found, request.query);
  return sorted(found.map(sortable), sort);
}

function noteSearch({ own }: RecallContext, found: readonly Memory[], query: string): void {
  own.note(
    found.map(({ drawerId }) => drawerId),
    query,
  );
}

/** Returns the default order: by time for a question about recent events and for a list of the last days, else by relevance. */
function usualSort(query: string, days: number | undefined): Sort {
  return asksForRecent(query) || (query === "" && days !== undefined) ? "recency" : "relevance";
}

function sortable<M extends Memory>(memory: M): M & { score: number } {
  return { ...memory, score: memory.standing.score };
}

export function memoryById({ reader }: Pick<FindContext, "reader">, id: string): Memory | undefined {
  const drawer = findShown(reader, id);
  return drawer && toMemory(drawer, reader.standings([drawer.id]).get(drawer.id));
}

function lookUp(context: FindContext, id: string, described: string, nowMs: number): string {
  const memory = memoryById(context, id);
  return memory === undefined ? `Memory '${cut(id)}' not found.` : listed(described, [memory], nowMs);
}

function listed(described: string, memories: readonly Memory[], nowMs: number): string {
  const lines = memories.map((memory, at) => {
    const notes = notesOf(memory, nowMs).filter((note) => note !== "");
    const meta = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
    return `${at + 1}. [${memory.collection}]${meta} [id:${plainId(memory.id)}] ${quoted(memory.text)}`;
  });
  return [`Found ${memories.length} result(s) for '${cut(described)}':`, ...lines]
    .map((part) => `${part}\n\n`)
    .join("");
}

function notesOf({ collection, metadata, standing, madeMs, weight }: Memory, nowMs: number): string[] {
  const made = Number.isNaN(madeMs) ? "" : age(madeMs, nowMs);
  if (collection === "memory_bank")
    return [made, `imp:${weight.importance.toFixed(1)}`, `conf:${weight.confidence.toFixed(1)}`];
  if (collection === "books") {
    const title = asText(metadata["title"] ?? "Untitled");
    return [made, title === "Untitled" ? "" : `📖 ${quoted(title)}`];
  }
  const { score, uses, successes, past } = standing;
  const proven = uses === 0 ? 0.5 : wilson(successes, uses);
  return [
    ...[made, `s:${score.toFixed(1)}`, proven > 0 ? `w:${proven.toFixed(2)}` : ""],
    ...[uses > 0 ? `${uses} uses` : "", pastSigns(past)],
  ];
}

export async function contextInsights(context: RecallContext, values: Values, nowMs: number): Promise<string> {
  const query = searchedPart(asText(values["query"] ?? "").trim());
  if (query === "") throw new InvalidValue("'query' is required");
  const { facts, memories } = await insights(context, query, nowMs);
  const ids = new Set([...facts, ...memories].map(({ id }) => id));
  return [
    `Known Context for '${cut(query)}':`,
    "",
    ...(facts.length === 0 ? [] : ["**Memory Bank:**", ...facts.map(({ text }) => `• ${quoted(text)}`), ""]),
    ...(memories.length === 0 ? [] : ["**Relevant Memories:**", ...memories.map(insight), ""]),
    ...(facts.length + memories.length === 0 ? ["Nothing is known of this yet.", ""] : []),
    `_Cached ${ids.size} doc_ids for outcome scoring._`,
  ].join("\n");
}

export async function insights(
  context: RecallContext,
  query: string,
  nowMs: number,
): Promise<{ facts: Memory[]; memories: Found[] }> {
  const memories = await bestFour(context, { query, nowMs });
  const always = factsOf(context).filter(({ metadata }) => metadata["always_inject"] === true);
  const facts = fitting(always);
  noteSearch(context, [...facts, ...memories], query);
  return { facts, memories };
}

/** Finds the best four memories about the prompt in all collections except books. */
export async function bestFour(
  context: FindContext,
  request: Omit<FindRequest, "collections" | "limit">,
): Promise<Found[]> {
  if (asksNothing(request.query)) return [];
  return bestOf(await findMemories(context, { ...request, collections: OPEN_TO, limit: CANDIDATES }));
}

function fitting(facts: readonly Memory[]): Memory[] {
  let left = CHARACTERS_MAX;
  return facts.filter(({ text }) => {
    const fits = text.length <= left;
    if (fits) left -= text.length;
    return fits;
  });
}

function insight({ collection, standing, text }: Memory): string {
  return `• [${collection}] (score:${standing.score.toFixed(2)}) ${quoted(text)}`;
}

export function readCollections(given: unknown): { collections?: readonly Collection[] } {
  if (given === undefined || given === null) return {};
  if (!Array.isArray(given)) throw new InvalidValue("collections must be a list of names");
  return { collections: [...new Set(given)].filter(isCollection) };
}

export function readFilters(given: unknown, days: number | undefined, nowMs: number): Filters {
  if (given !== undefined && given !== null && !isRecord(given)) throw new InvalidValue("metadata must be an object");
  const filters = { ...given, ...(days !== undefined && { created_at: { $gte: isoTime(nowMs - days * DAY_MS) } }) };
  if (Object.keys(filters).length > FIELDS_MAX || Object.values(filters).some(isLong))
    throw new InvalidValue(`metadata may name ${FIELDS_MAX} fields, and ${VALUES_MAX} values of one`);
  const unknown = unknownOperator(filters);
  if (unknown !== undefined) throw new InvalidValue(`metadata has the unknown operator ${unknown}`);
  return filters;
}

/** Returns true for a filter with so many values that comparing them with each memory would take too long. */
function isLong(wanted: unknown): boolean {
  return isRecord(wanted) && Object.values(wanted).some((value) => Array.isArray(value) && value.length > VALUES_MAX);
}

export function readSort(given: unknown): Sort | undefined {
  if (given === undefined || given === null) return undefined;
  if (SORTS.includes(given as Sort)) return given as Sort;
  throw new InvalidValue(`sort_by must be one of ${SORTS.join(", ")}`);
}

export function within(given: unknown, name: string, maximum: number): number | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given === "number" && given >= 1 && given <= maximum) return Math.trunc(given);
  throw new InvalidValue(`${name} must be 1 to ${maximum}`);
}
