/** Outcomes that nobody has to tell: what each signal says of the memories of a turn, and what it does to a standing. Pure. */
import type { OutcomeSource, Signal, Standing, Telling } from "../../port/outcome.ts";
import { afterOutcome } from "./outcome.ts";
import { SCORES } from "./promotion.ts";

/** `weight`: how much it is believed beside the word of an agent or a user, which is 1. `of`: this turn's answer, or the one before. */
type Effect = { outcome: Telling; weight: number; of: "turn" | "before" };

export const SIGNALS: Readonly<Record<Signal, Effect>> = {
  "tests-passed": { outcome: "worked", weight: 0.5, of: "turn" },
  "tests-failed": { outcome: "failed", weight: 0.5, of: "turn" },
  "command-failed": { outcome: "failed", weight: 0.25, of: "turn" },
  reverted: { outcome: "failed", weight: 0.75, of: "before" },
  "asked-again": { outcome: "failed", weight: 0.5, of: "before" },
};

export function isSignal(source: OutcomeSource): source is Signal {
  return Object.hasOwn(SIGNALS, source);
}

/**
 * A signal moves the score alone. Uses and successes are of those who have judged: a success that is believed by half would be a whole
 * use beside it, and make what is proven less so. So no signal alone promotes, and none takes a score to where memories are deleted.
 */
export function afterSignal(standing: Standing, signal: Signal, atMs: number): Standing {
  const { outcome, weight } = SIGNALS[signal];
  const { score } = afterOutcome(standing, { outcome, atMs, reason: null, weight });
  return { ...standing, score: Math.max(score, Math.min(standing.score, SCORES.deletion)) };
}
