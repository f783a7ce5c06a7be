/** Adjusts a drawer's score in every search by its past outcomes. Pure. */
import type { Drawer } from "../../memory/port/drawer.ts";
import type { Standing } from "../../memory/port/outcome.ts";
import { prospect } from "./ranking.ts";
import { unjudged } from "../memory/as-drawer.ts";
import { round } from "../../memory/text/text.ts";
import type { Adjustment } from "../../memory/search/explain.ts";

/** Returns one factor: 0.75…1.25, or 0.625…1.125 for a fact, because facts start with a high score. Empty without outcomes. */
export function outcomeAdjustments(drawer: Drawer, standing: Standing | undefined): Adjustment[] {
  if (standing === undefined) return [];
  const before = unjudged(drawer);
  const { successes, uses, score } = standing;
  if (uses === 0 && score === before.score) return [];
  const reason = uses === 0 ? `its score is ${round(score, 2)}` : `has helped in ${successes} of ${uses} uses`;
  return [{ factor: 1 + (prospect(standing) - prospect(before)) / 2, reason }];
}
