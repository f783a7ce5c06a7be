/** Recognises, by its concepts, a problem that was solved before (outcome-memory.md 8.4). Pure. */
import type { Answered, Question } from "../../memory/port/outcome.ts";
import type { Collection } from "../memory/memory.ts";

const PART_CONCEPTS = 3;
/** Minimum share of equal concepts in two similar questions (measured with npm run bench:learning). */
const PART_SHARE = 0.5;
/** Minimum share of equal concepts in two wordings of one question (measured with npm run bench:learning). */
const TOPIC_SHARE = 0.35;
const SOLUTIONS_MAX = 3;
/** A solution has more than `times` × failures + `plus` successes, so that one wrong outcome does not make a solution. */
const SURE = { times: 2, plus: 1 } as const;
/** Distance of a solution that the search itself did not find. */
export const STARTING_DISTANCE = 1;

/** `how`: the most similar earlier question has exactly or partly the same concepts. `shared`: number of these. `times`: successes. */
export type Solved = { how: "exactly" | "partly"; times: number; shared: number };

export function likeness(problem: readonly number[], solved: readonly number[]): Omit<Solved, "times"> | undefined {
  const known = new Set(solved);
  const shared = problem.filter((concept) => known.has(concept)).length;
  if (shared > 0 && shared === problem.length && shared === known.size) return { how: "exactly", shared };
  const isAlike = shared >= PART_CONCEPTS && shared >= PART_SHARE * (problem.length + known.size - shared);
  return isAlike ? { how: "partly", shared } : undefined;
}

export function isSameTopic(one: readonly number[], other: readonly number[]): boolean {
  const known = new Set(other);
  const shared = one.filter((concept) => known.has(concept)).length;
  return shared > 0 && shared >= TOPIC_SHARE * (one.length + known.size - shared);
}

type Tried = Solved & { failed: number; lastMs: number };

/** Returns drawers that solved the problem far more often than they failed: equal questions first, then by successes. */
export function solutionsOf(
  { concepts }: Pick<Question, "concepts">,
  answered: readonly Answered[],
): Map<string, Solved> {
  const tried = new Map<string, Tried>();
  for (const { id, outcome, atMs, concepts: of } of answered) {
    const alike = outcome === "partial" ? undefined : likeness(concepts, of);
    if (alike === undefined) continue;
    const before = tried.get(id) ?? { ...alike, times: 0, failed: 0, lastMs: 0 };
    const nearer = before.how === "exactly" || before.shared > alike.shared ? before : alike;
    tried.set(id, {
      ...{ how: nearer.how, shared: nearer.shared, lastMs: Math.max(before.lastMs, atMs) },
      times: before.times + (outcome === "worked" ? 1 : 0),
      failed: before.failed + (outcome === "failed" ? 1 : 0),
    });
  }
  const best = [...tried]
    .filter(([, { times, failed }]) => times > SURE.plus + SURE.times * failed)
    .sort(([, a], [, b]) => sureness(b) - sureness(a) || b.times - a.times || b.lastMs - a.lastMs);
  return new Map(best.slice(0, SOLUTIONS_MAX).map(([id, { how, times, shared }]) => [id, { how, times, shared }]));
}

function sureness({ how }: Solved): number {
  return how === "exactly" ? 1 : 0;
}

/** Returns true for a collection that may contain solutions; the memories in `working` are unproven. */
export function mayBeSolution(collection: Collection): boolean {
  return collection !== "working";
}
