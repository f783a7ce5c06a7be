/** Filters memories by their metadata, and sorts them. Pure. Source: outcome-memory.md 3.4. */
import type { Metadata } from "../../memory/port/drawer.ts";
import type { Standing } from "../../memory/port/outcome.ts";

export type Filters = Readonly<Record<string, unknown>>;
export const SORTS = ["relevance", "recency", "score"] as const;
export type Sort = (typeof SORTS)[number];

const DATES: ReadonlySet<string> = new Set(["timestamp", "last_used", "created_at", "first_seen", "last_seen"]);
/** Length of a date without a time, such as `2026-01-31`. */
const DAY = 10;

type Scalar = string | number | boolean;
type Compare = (held: unknown, wanted: unknown) => boolean;

const same: Compare = (held, wanted) => held === wanted;
const ordered =
  (test: (order: number) => boolean): Compare =>
  (held, wanted) =>
    typeof held === typeof wanted &&
    (typeof held === "number" || typeof held === "string") &&
    test(order(held, wanted));

const OPERATORS: Readonly<Record<string, Compare>> = {
  $eq: same,
  $ne: (held, wanted) => held !== wanted,
  $gt: ordered((sign) => sign > 0),
  $gte: ordered((sign) => sign >= 0),
  $lt: ordered((sign) => sign < 0),
  $lte: ordered((sign) => sign <= 0),
  $in: (held, wanted) => Array.isArray(wanted) && wanted.includes(held),
  $nin: (held, wanted) => Array.isArray(wanted) && !wanted.includes(held),
};

function order(a: unknown, b: unknown): number {
  return (a as Scalar) < (b as Scalar) ? -1 : (a as Scalar) > (b as Scalar) ? 1 : 0;
}

/** Returns the first unknown operator, which would otherwise silently match everything or nothing. */
export function unknownOperator(filters: Filters): string | undefined {
  for (const wanted of Object.values(filters))
    if (isConditions(wanted)) {
      const unknown = Object.keys(wanted).find((name) => !Object.hasOwn(OPERATORS, name));
      if (unknown !== undefined) return unknown;
    }
  return undefined;
}

type Filtered = { metadata: Metadata; standing: Standing };

/** Values of a standing that a filter may name. Roampal keeps them in the memory's metadata. */
const OF_STANDING: Readonly<Record<string, (standing: Standing) => Scalar | undefined>> = {
  score: ({ score }) => score,
  uses: ({ uses }) => uses,
  success_count: ({ successes }) => successes,
  last_outcome: ({ past }) => past.at(-1)?.outcome,
  last_used: ({ lastUsedMs }) => (lastUsedMs === null ? undefined : new Date(lastUsedMs).toISOString()),
};

/** Returns true if all conditions are met. A missing date counts as an empty text. */
export function matches({ metadata, standing }: Filtered, filters: Filters): boolean {
  return Object.entries(filters).every(([field, wanted]) => {
    const value = Object.hasOwn(OF_STANDING, field) ? OF_STANDING[field]?.(standing) : metadata[field];
    const held = DATES.has(field) ? String(value ?? "") : value;
    if (isConditions(wanted))
      return Object.entries(wanted).every(([name, value]) => OPERATORS[name]?.(held, value) ?? false);
    if (DATES.has(field) && typeof wanted === "string" && wanted.length === DAY) return String(held).startsWith(wanted);
    return held === wanted;
  });
}

function isConditions(wanted: unknown): wanted is Record<string, unknown> {
  return typeof wanted === "object" && wanted !== null && !Array.isArray(wanted);
}

/** Sorts by time (newest first, memories without a time last) or by score (best first). */
export function sorted<M extends { metadata: Metadata; score: number }>(memories: readonly M[], by: Sort): M[] {
  if (by === "relevance") return [...memories];
  const time = ({ metadata }: M): string => String(metadata["timestamp"] ?? metadata["created_at"] ?? "");
  return by === "score"
    ? [...memories].sort((a, b) => b.score - a.score)
    : [...memories].sort((a, b) => order(time(b), time(a)));
}

const RECENT = /\b(?:last|recent|previous|yesterday|today|earlier|before|latest|ago|just now)\b/i;

export function asksForRecent(query: string): boolean {
  return RECENT.test(query);
}
