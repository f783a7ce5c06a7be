/** A problem that was solved before is known again by its concepts. Pure. Source: outcome-memory.md 8.4. */
import type { Collection } from "./memory.ts";

const SIGNATURE_CONCEPTS = 5;
const PART_CONCEPTS = 3;
/** Of one signature. */
export const SOLUTIONS_MAX = 3;
/** Where the search itself did not find it. */
export const STARTING_DISTANCE = 1;

/** What names a problem; `sorted`: all its concepts, as concepts.ts returns them. */
export function signature(sorted: readonly string[]): string[] {
  return sorted.slice(0, SIGNATURE_CONCEPTS);
}

export function likeness(problem: readonly string[], solved: readonly string[]): "exactly" | "partly" | undefined {
  const shared = problem.filter((concept) => solved.includes(concept)).length;
  if (shared > 0 && shared === problem.length && shared === solved.length) return "exactly";
  return shared >= PART_CONCEPTS ? "partly" : undefined;
}

/** Where a solution may stand; what is of the day has yet to prove itself. */
export function mayBeSolution(collection: Collection): boolean {
  return collection !== "working";
}
