/** Compares two answers except ids, times, wording and ranking. A difference is a finding, unless api-differences.ts lists it. */
import type { RoampalVersion } from "../../helpers/python-roampal.ts";
import { isRecord, withoutKeys } from "../mend.ts";
import { API_DIFFERENCES } from "./api-differences.ts";
import { bodyOf, given, type Row } from "./api-mend.ts";
import type { Step } from "./api-steps.ts";

export type Told = { tools: unknown[] } | { status: number; body: unknown } | { text: string; isError: boolean };

const ID = /\b(working|history|patterns|memory_bank|books?)_[0-9a-f]{8}((?:_chunk_\d+)?)\b/g;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?$/;
const JSON_TEXT = /^[[{].*[\]}]$/s;
/** Keys whose texts each server words differently, or whose parts are compared elsewhere. */
const WORDED = [
  "formatted_injection",
  "context_only",
  "scoring_prompt",
  "scoring_prompt_simple",
  "message",
  "data_path",
  "version",
];
/** Keys whose numbers depend on ranking, model or machine. */
const OF_RANKING = [
  ...["distance", "original_distance", "similarity", "embedding_similarity", "final_rank_score", "combined_score"],
  ...["embedding_weight", "learned_weight", "minutes_ago", "pid", "quality"],
];
/** Matches the age of a memory that this run stored. questions.test.ts tests higher ages. */
const AGE = /^(?:now|\d+m)$/;
/** Matches the age of a memory in a tool's text. */
const AGE_IN_TEXT = /\((?:now|\d+m)(?=,)/g;
const DIGITS = 4;

/** Returns undefined if the answers agree. Adds to `used` the names of the listed differences that it needed. */
export function compareAnswers(
  version: RoampalVersion,
  step: Step,
  theirs: Told,
  ours: Told,
  used: Set<string>,
): { theirs: unknown; ours: unknown } | undefined {
  let pair: [unknown, unknown] = [toolsOf(theirs) ?? shape(step, theirs), toolsOf(ours) ?? shape(step, ours)];
  for (const { name, versions, mend } of API_DIFFERENCES) {
    if (isSame(...pair)) return undefined;
    if (!versions.includes(version)) continue;
    const mended = mend(...structuredClone(pair), step);
    if (mended === undefined || (isSame(mended[0], pair[0]) && isSame(mended[1], pair[1]))) continue;
    used.add(name);
    pair = mended;
  }
  return isSame(...pair) ? undefined : { theirs: pair[0], ours: pair[1] };
}

/** Returns an answer's keys and types without its values. A list sorted by score retains its scores. */
function shape(step: Step, told: Told): unknown {
  const { query, sort_by } = given(step);
  const results = bodyOf(told)?.["results"];
  const isByScore = query === undefined && sort_by === "score" && Array.isArray(results);
  return isByScore
    ? { ...(masked(told) as Row), scores: results.map((one: Row) => masked(one["score"])) }
    : masked(told);
}

/** Compares two values. The order of keys does not matter. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  if (!isRecord(a) || !isRecord(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

function masked(value: unknown, key = ""): unknown {
  if (typeof value === "number") return OF_RANKING.includes(key) ? "<number>" : Number(value.toFixed(DIGITS));
  if (typeof value === "string") {
    if (WORDED.includes(key)) return value === "" ? "" : "<words>";
    if (JSON_TEXT.test(value)) return asJson(value);
    if (key === "age" && AGE.test(value)) return "<age>";
    return TIME.test(value) ? "<time>" : value.replaceAll(ID, "<$1$2>").replaceAll(AGE_IN_TEXT, "(<age>");
  }
  if (Array.isArray(value)) {
    const list = value.map((one) => masked(one));
    // Sorts memories by their words, because the order of memories of the same moment is free.
    return key === "results" ? list.toSorted((a, b) => (wordsOf(a) < wordsOf(b) ? -1 : 1)) : list;
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, masked(one, name)]));
}

/** Returns the tools' names and argument schemas, without descriptions. */
function toolsOf(told: Told): unknown {
  if (!("tools" in told)) return undefined;
  const tools = told.tools as { name: string; inputSchema: unknown }[];
  return Object.fromEntries(tools.map(({ name, inputSchema }) => [name, withoutKeys(inputSchema, ["description"])]));
}

function wordsOf(memory: unknown): string {
  return isRecord(memory) ? String(memory["content"] ?? memory["text"]) : "";
}

/** Parses and masks JSON that is stored as a text. */
function asJson(text: string): unknown {
  try {
    return masked(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Returns the id in a server's answer, if any. */
export function idIn(told: Told | undefined): string | undefined {
  if (told === undefined) return undefined;
  if ("tools" in told) return undefined;
  if ("text" in told) return /\(ID: (\w+)\)/.exec(told.text)?.[1];
  const { doc_id: id, doc_ids: ids } = (told.body ?? {}) as { doc_id?: string; doc_ids?: string[] };
  return id || ids?.[0];
}
