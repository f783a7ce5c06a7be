/** Answers programs' searches with fields instead of sentences (outcome-memory.md 3.4, 3.7, 4.7, 4.10). */
import type { MemoryFields } from "../../protocol/outcome.ts";
import { asText } from "../../memory/text/validate.ts";
import { effectivenessIn } from "./lessons.ts";
import { memoryFields } from "../memory/fields.ts";
import {
  DAYS_MAX,
  findOrList,
  insights,
  memoryById,
  readCollections,
  readFilters,
  readSort,
  type RecallContext,
  within,
} from "./recall.ts";

const USUAL_LIMIT = 10;
const LIMIT_MAX = 500;

type Values = Record<string, unknown>;

/** Returns the memory `id`, or the memories for `query`, or all, newest first. Errors: InvalidValue. */
export async function recallFields(context: RecallContext, values: Values, nowMs: number): Promise<MemoryFields[]> {
  const { id, metadata_filters: given } = values;
  if (typeof id === "string" && id !== "") {
    const memory = memoryById(context, id);
    return memory === undefined ? [] : [memoryFields(memory, nowMs)];
  }
  const query = asText(values["query"] ?? "").trim();
  const limit = within(values["limit"], "limit", LIMIT_MAX) ?? USUAL_LIMIT;
  const filters = readFilters(given, within(values["days_back"], "days_back", DAYS_MAX), nowMs);
  const request = { query, ...readCollections(values["collections"]), limit, filters, nowMs };
  const sort = readSort(values["sort_by"]) ?? (query === "" ? "recency" : "relevance");
  return (await findOrList(context, request, sort)).map((memory) => memoryFields(memory, nowMs));
}

export async function insightFields(
  context: RecallContext,
  query: string,
  nowMs: number,
): Promise<{ facts: MemoryFields[]; memories: MemoryFields[] }> {
  const { facts, memories } = await insights(context, query.trim(), nowMs);
  const effective = effectivenessIn(context.reader, query.trim());
  const fields = (list: typeof facts): MemoryFields[] =>
    list.map((memory) => memoryFields(memory, nowMs, effective(memory.collection)));
  return { facts: fields(facts), memories: fields(memories) };
}
