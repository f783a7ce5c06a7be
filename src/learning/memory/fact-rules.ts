/** Rules for an agent's facts: valid weights and tags, and the fact to which a text refers (outcome-memory.md 2.3, 2.11, 6.5). Pure. */
import { parseJson } from "../../base/parse-json.ts";
import { USUAL_WEIGHT, type Weight } from "./memory.ts";

export const CAPACITY = 500;
/** Minimum cosine between a text and the fact to which it refers, for an update and for archiving. */
export const NEAR_ENOUGH = { update: 0.75, archive: 0.6 } as const;
export const NEAREST_ASKED = 5;
const PART_OF_FACT = 3;

/** Tags of the facts that describe the user, in the order of the description's lines. */
export const TAGS = ["identity", "preference", "goal", "project", "system_mastery", "agent_growth"] as const;

const WORDS: Readonly<Record<string, number>> = { high: 0.9, medium: 0.7, low: 0.5 };

/** Reads a weight from a number, a word such as `high`, or a list with one of these. Any other value becomes `usual`. */
export function readWeight(value: unknown, usual: number): number {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof one === "string" && Object.hasOwn(WORDS, one.toLowerCase())) return WORDS[one.toLowerCase()] ?? usual;
  const number = typeof one === "string" && one.trim() !== "" ? Number(one) : one;
  return typeof number === "number" && Number.isFinite(number) ? Math.min(Math.max(number, 0), 1) : usual;
}

export function weightOf(fields: Readonly<Record<string, unknown>>): Weight {
  return {
    importance: readWeight(fields["importance"], USUAL_WEIGHT.importance),
    confidence: readWeight(fields["confidence"], USUAL_WEIGHT.confidence),
  };
}

/** Reads tags from a list or its JSON. Any other value, from another program, counts as no tags. */
export function tagsOf({ tags }: Readonly<Record<string, unknown>>): string[] {
  const list = typeof tags === "string" ? parseJson(tags) : tags;
  return Array.isArray(list) ? list.filter((tag) => typeof tag === "string") : [];
}

export type Near = { id: string; text: string; cosine: number };

/**
 * Returns the id of the nearest fact that contains the text or is part of it, else of the nearest one if its cosine is at least `enough`.
 */
export function meantFact(wanted: string, near: readonly Near[], enough: number): string | undefined {
  const needle = wanted.trim().toLowerCase();
  const holding = near.slice(0, NEAREST_ASKED).find(({ text }) => holds(text.trim().toLowerCase(), needle));
  if (holding !== undefined) return holding.id;
  const [nearest] = near;
  return nearest !== undefined && nearest.cosine >= enough ? nearest.id : undefined;
}

/** Returns true if one text contains the other and is less than three times as long, so that a short word does not match a long fact. */
function holds(a: string, b: string): boolean {
  const [long, short] = a.length > b.length ? [a, b] : [b, a];
  return short.length * PART_OF_FACT > long.length && long.includes(short);
}
