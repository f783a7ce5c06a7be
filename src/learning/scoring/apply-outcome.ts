/** Applies an outcome to a memory's standing. Pure. Source: outcome-memory.md 2.4, 2.6. */
import type { Standing, Telling } from "../../memory/port/outcome.ts";
import { timeWeight } from "./time-weight.ts";

/** Change of a standing by each outcome. The time weight multiplies the change of `score` only. */
const DELTAS: Readonly<Record<Telling, { score: number; successes: number }>> = {
  worked: { score: 0.2, successes: 1 },
  partial: { score: 0.05, successes: 0.5 },
  failed: { score: -0.3, successes: 0 },
};
const PAST_KEPT = 10;

/** Judgment of a memory. `weight`: trust in its source, 0…1, which multiplies the changes in `DELTAS`. */
export type Verdict = { outcome: Telling; atMs: number; reason: string | null; weight: number };

export function afterOutcome(standing: Standing, { outcome, atMs, reason, weight }: Verdict): Standing {
  const delta = DELTAS[outcome];
  return {
    score: rounded(standing.score + delta.score * timeWeight(standing.lastUsedMs, atMs) * weight),
    uses: standing.uses + 1,
    successes: standing.successes + delta.successes * weight,
    lastUsedMs: atMs,
    past: [...standing.past, { outcome, atMs, reason }].slice(-PAST_KEPT),
  };
}

/**
 * Returns the standing after a person's judgments `words` (oldest first) on `start`, without the other outcomes in `standing`. Returns
 * `standing` plus the newest judgment if that is higher (worked) or lower (failed), so that agreement never lowers a high score.
 */
export function afterPerson(standing: Standing, words: readonly Verdict[], start: Standing): Standing {
  const alone = words.reduce(afterOutcome, start);
  const newest = words.at(-1);
  if (newest === undefined || newest.outcome === "partial") return alone;
  const added = afterOutcome(standing, newest);
  const isMore = newest.outcome === "worked" ? added.score > alone.score : added.score < alone.score;
  return isMore ? added : alone;
}

/** Rounds to six decimals and limits to 0…1. Without rounding, 0.7 + 0.2 would be just below 0.9, the score for a promotion. */
function rounded(score: number): number {
  return Math.round(Math.min(Math.max(score, 0), 1) * 1e6) / 1e6;
}
