/** What came of a drawer where it was shown moves it in every later search. Pure; used by choose.ts. */
import type { Standing } from "../../port/outcome.ts";
import { prospect } from "../outcome/ranking.ts";
import { round } from "../text/text.ts";
import type { Adjustment } from "./explain.ts";

const UNJUDGED = 0.5;

/** A drawer of which nothing is known keeps its score; another gets 0.75 to 1.25 of it. */
export function outcomeAdjustments(standing: Standing | undefined): Adjustment[] {
  if (standing === undefined) return [];
  const { successes, uses, score } = standing;
  if (uses === 0 && score === UNJUDGED) return [];
  const reason = uses === 0 ? `its score is ${round(score, 2)}` : `has helped in ${successes} of ${uses} uses`;
  return [{ factor: 0.75 + prospect(standing) / 2, reason }];
}
