/** What came of a drawer where it was shown moves it in every later search. Pure; used by choose.ts. */
import type { Standing } from "../../port/outcome.ts";
import { expected } from "../outcome/wilson.ts";
import type { Adjustment } from "./explain.ts";

/** A drawer that nobody has scored keeps its score; one that was scored gets 0.75 to 1.25 of it. */
export function outcomeAdjustments(standing: Standing | undefined): Adjustment[] {
  if (standing === undefined || standing.uses === 0) return [];
  const { successes, uses } = standing;
  return [{ factor: 0.75 + expected(successes, uses) / 2, reason: `has helped in ${successes} of ${uses} uses` }];
}
