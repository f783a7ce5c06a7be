/** Helpers of the entries in differences.ts: remove parts of answers, and compare hits in any order. */
import type { Answer } from "./server.ts";

type Row = Record<string, unknown>;

const SCORES = ["similarity", "distance", "effective_distance"];
/** Largest accepted difference of two scores. Upstream rounds a float32, we round a double. */
const SCORE_TOLERANCE = 0.0021;

export function isRecord(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Removes the keys from a value, at any depth. */
export function withoutKeys(value: unknown, keys: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutKeys(one, keys));
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !keys.includes(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutKeys(one, keys)]));
}

/**
 * Compares hits in any order. A list of `limit` hits may be incomplete, so its length and the shared hits must agree. Shorter lists must
 * have the same hits.
 */
export function sameHits(theirs: Answer, ours: Answer, { args }: { args: unknown }): [unknown, unknown] | undefined {
  const [a, b] = [hitsOf(theirs), hitsOf(ours)];
  if (a === undefined || b === undefined) return undefined;
  const limit = Math.max(1, Math.min(100, Math.trunc(Number(String((args as Row)["limit"] ?? 5).replaceAll("_", "")))));
  // One of our hits may replace near-duplicates or other slices of its exchange, so the lists may differ in length.
  const isFolded = b.some((hit) => "near_duplicates" in hit || "same_exchange" in hit);
  const isFull = a.length >= limit || b.length >= limit || isTruncated(theirs) || isFolded;
  const isAll = a.length < limit && b.length < limit && !isTruncated(theirs);
  // Several drawers may have equal text, wing, room and source. The two servers may then show different ones of them, or not equally many.
  const shared = (hits: readonly Row[], other: readonly Row[]): Row[] =>
    isFull
      ? [
          ...new Map(
            hits.filter((hit) => other.some((one) => keyOf(one) === keyOf(hit))).map((hit) => [keyOf(hit), hit]),
          ).values(),
        ]
      : [...hits];
  const [left, right] = [shared(a, b), shared(b, a)].map((hits) =>
    hits
      .map(
        ({
          bm25_score,
          drawer_id,
          matched_via: via,
          near_duplicates: _folded,
          same_exchange: _of,
          table_header: _header,
          also_in: copies,
          ...hit
        }) => ({
          ...hit,
          ...(isAll && { hasCopies: copies !== undefined }),
          matched_via: via === "bm25_backend" ? "drawer" : via,
          ...(!isFull && { drawer_id }),
          hasScore: typeof bm25_score === "number",
        }),
      )
      .toSorted((x, y) => (keyOf(x) + String(x["drawer_id"]) < keyOf(y) + String(y["drawer_id"]) ? -1 : 1)),
  );
  const replaced = (answer: Answer, count: number, results: unknown): unknown => ({
    value: { ...(answer as { value: Row }).value, results, count },
  });
  const count = (hits: readonly Row[]): number => (isTruncated(theirs) || isFolded ? 0 : hits.length);
  return [replaced(theirs, count(a), left), replaced(ours, count(b), right)];
}

/** Compares texts of the command line. The heads must be the same, and so must the hits, in any order, if both lists are complete. */
export function sameCliText(theirs: Answer, ours: Answer): [unknown, unknown] | undefined {
  const [a, b] = [theirs, ours].map((answer) => {
    const text = "value" in answer && isRecord(answer.value) ? answer.value["cli_output"] : undefined;
    if (typeof text !== "string") return undefined;
    const [head = "", ...hits] = text.split(/^ {2}\[\d+\] /m);
    // Removes lines with a score or a copy: the sides score words differently, and may show different copies.
    return { head, hits: hits.map((hit) => hit.replace(/^ {6}(?:Match|Also in): .*\n/gm, "").replace(/\n+$/, "")) };
  });
  if (a === undefined || b === undefined) return undefined;
  if (a.hits.length !== b.hits.length) return [a.head, b.head];
  const shared = (own: readonly string[], other: readonly string[]): string[] =>
    own.filter((hit) => other.includes(hit)).toSorted();
  return [
    { head: a.head, hits: shared(a.hits, b.hits) },
    { head: b.head, hits: shared(b.hits, a.hits) },
  ];
}

const MISSED_MAX = 2;

/** Removes at most two additional hits of ours, if our list has all of MemPalace's hits and only hits in the requested wing and room. */
export function withoutMissed(
  theirs: Answer,
  ours: Answer,
  { args }: { args: unknown },
): [unknown, unknown] | undefined {
  const [a, b] = [hitsOf(theirs), hitsOf(ours)];
  if (a === undefined || b === undefined || b.length <= a.length || b.length - a.length > MISSED_MAX) return undefined;
  const asked = Object.entries(args as Row).filter(([key, value]) => ["wing", "room"].includes(key) && value);
  if (!b.every((hit) => asked.every(([key, value]) => hit[key] === value))) return undefined;
  const left = new Map<string, number>();
  for (const hit of a) left.set(keyOf(hit), (left.get(keyOf(hit)) ?? 0) + 1);
  const results = b.filter((hit) => {
    const count = left.get(keyOf(hit)) ?? 0;
    left.set(keyOf(hit), count - 1);
    return count > 0;
  });
  if (results.length < a.length) return undefined;
  return [theirs, { value: { ...(ours as { value: Row }).value, results, count: results.length } }];
}

/**
 * Reduces both lists to the shared matches. Our list may have one or two additional matches, if each of them is at least as similar to the
 * query as MemPalace's additional matches.
 */
export function withoutMissedMatches(theirs: Answer, ours: Answer): [unknown, unknown] | undefined {
  const [a, b] = [matchesOf(theirs)[0], matchesOf(ours)[0]];
  if (a === undefined || b === undefined) return undefined;
  const ids = new Set(a.map(({ id }) => id));
  const shared = b.filter(({ id }) => ids.has(id));
  const missed = b.filter(({ id }) => !ids.has(id));
  if (missed.length === 0 || missed.length > MISSED_MAX) return undefined;
  // MemPalace's list may differ from ours only after the shared matches.
  const isBehind = a.slice(0, shared.length).every(({ id }) => shared.some((hit) => hit["id"] === id));
  const isMoreAlike = a.slice(shared.length).every((hit) => missed.every((one) => atLeast(one, hit)));
  if (!isBehind || !isMoreAlike) return undefined;
  return [{ matches: a.slice(0, shared.length) }, { matches: shared }];
}

function atLeast(one: Row, other: Row): boolean {
  return Number(one["similarity"]) + SCORE_TOLERANCE >= Number(other["similarity"]);
}

/** Key of an answer for which 3.11 compared the dates of only a limited number of hits. */
export const TRUNCATED = "date_filter_pool_truncated";

function isTruncated(answer: Answer): boolean {
  return "value" in answer && isRecord(answer.value) && answer.value[TRUNCATED] === true;
}

function hitsOf(answer: Answer): Row[] | undefined {
  const value = "value" in answer && isRecord(answer.value) ? answer.value["results"] : undefined;
  return Array.isArray(value) ? (value as Row[]) : undefined;
}

function keyOf({ wing, room, text, source_file: source }: Row): string {
  return JSON.stringify([wing, room, source, text]);
}

/** Removes filters that 3.3.6 does not know. Removes `results` from an answer with `error`, such as "No palace found". */
export function onlyOldFilters(answer: unknown): unknown {
  if (!isRecord(answer) || !isRecord(answer["value"])) return answer;
  const { filters, results, ...value } = answer["value"];
  return {
    value: {
      ...value,
      ...(isRecord(filters) && { filters: { wing: filters["wing"], room: filters["room"] } }),
      ...(results !== undefined && !("error" in value) && { results }),
    },
  };
}

/** Shortens each source to the part after the last slash or backslash. */
export function baseNames(value: unknown, key = ""): unknown {
  if (key === "source_file" && typeof value === "string") return value.slice(value.lastIndexOf("\\") + 1);
  if (Array.isArray(value)) return value.map((one) => baseNames(one));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === "filters" ? one : baseNames(one, name)]),
  );
}

/** In a report of sync, merges the sources that are gone with the sources that may be gone. */
export function goneTogether(answer: unknown): unknown {
  if (!isRecord(answer) || !isRecord(answer["value"]) || !("missing" in answer["value"])) return answer;
  const { missing, unresolved = 0, by_source, unresolved_by_source: more = {}, ...report } = answer["value"];
  return {
    ...report,
    gone: Number(missing) + Number(unresolved),
    sources: { ...(by_source as Row), ...(more as Row) },
  };
}

/** Compares lists called `matches`. Similarities must be equal, and drawers too, except drawers with the lowest similarity. */
export function untied(theirs: Answer, ours: Answer): [unknown, unknown] | undefined {
  const [a, b] = [matchesOf(theirs), matchesOf(ours)];
  if (a.length === 0 || a.length !== b.length) return undefined;
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? [];
    const scores = (rows: readonly Row[]): unknown => rows.map(({ similarity }) => ({ similarity }));
    if (left.length !== right.length || !isSame(scores(left), scores(right))) return undefined;
  }
  return [reduced(theirs), reduced(ours)];
}

function matchesOf(value: unknown): Row[][] {
  if (Array.isArray(value)) return value.flatMap(matchesOf);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === "matches" && Array.isArray(one) ? [one as Row[]] : matchesOf(one),
  );
}

function reduced(value: unknown, key = ""): unknown {
  if (key === "matches" && Array.isArray(value)) {
    const rows = value as (Row & { similarity: number; id: string })[];
    const last = rows.at(-1)?.similarity ?? 0;
    return rows
      .filter(({ similarity }) => similarity > last + 0.002)
      .map(({ similarity: _similarity, ...row }) => row)
      .toSorted((x, y) => (x.id < y.id ? -1 : 1));
  }
  if (Array.isArray(value)) return value.map((one) => reduced(one));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, reduced(one, name)]));
}

export function isSame(a: unknown, b: unknown, key = ""): boolean {
  if (typeof a === "number" && typeof b === "number" && SCORES.includes(key)) return Math.abs(a - b) < SCORE_TOLERANCE;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keysA, keysB] = [
    Object.keys(a).filter((name) => defined(a, name)),
    Object.keys(b).filter((name) => defined(b, name)),
  ];
  return (
    keysA.length === keysB.length &&
    keysA.every((name) => isSame((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name], name))
  );
}

function defined(value: object, name: string): boolean {
  return (value as Record<string, unknown>)[name] !== undefined;
}

/** Describes the differences of two answers, one line each. */
export function parting(a: unknown, b: unknown, path = ""): string[] {
  if (isSame(a, b, path.slice(path.lastIndexOf(".") + 1))) return [];
  const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;
  const short = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 300);
  if (!isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b))
    return [`  ${path}: theirs ${short(a)}, ours ${short(b)}`];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
    parting((a as Row)[key], (b as Row)[key], `${path}.${key}`),
  );
}

/** Cuts MemPalace's list of events to the length of ours, if our answer says that there are more. */
export function firstEvents(theirs: Answer, ours: Answer): [unknown, unknown] | undefined {
  const [a, b] = [theirs, ours].map((answer) => ("value" in answer && isRecord(answer.value) ? answer.value : {}));
  if (a === undefined || b?.["more"] !== true) return undefined;
  const [all, some] = [a["events"] as unknown[], b["events"] as unknown[]];
  if (some.length === 0 || some.length >= all.length) return undefined;
  return [{ value: { ...a, events: all.slice(0, some.length), count: some.length, more: true } }, ours];
}

/** Replaces the coordination log's warnings by their number, and removes text for people. */
export function withoutWords(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return key === "warnings" ? value.length : value.map((one) => withoutWords(one));
  if (key === "body" && typeof value === "string") return value.replace(/\n\nDelivery:\n[^]*/, "");
  if (key === "note") return typeof value;
  // Keeps the first sentence, which names task and agent and is the same from both servers.
  if (key === "handoff") return String(value).replace(/(?<=\. )[^]*/, "");
  if (!isRecord(value)) return value;
  // Removes the length of a task's body, because the servers word parts of the body differently.
  const { body_truncated: _cut, body_length: _length, ...shown } = value;
  const kept = String(value["body"]).startsWith("Goal:\n") ? shown : value;
  return Object.fromEntries(Object.entries(kept).map(([name, one]) => [name, withoutWords(one, name)]));
}
