/**
 * Applies signals: outcomes that a host observes, without a person or agent to report them. Decides which memories of a turn a signal
 * concerns, and how the signal changes a standing. Pure.
 */
import type { OutcomeSource, Signal, Standing, Telling } from "../../memory/port/outcome.ts";
import { afterOutcome } from "./apply-outcome.ts";
import { SCORES } from "./promotion.ts";

/** Effect of a signal. `weight`: trust in the signal (an agent's or user's outcome has 1). `of`: this turn's answer or the one before. */
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
 * Applies a signal, which changes only the score. Uses and successes count real judgments: a signal's partial success would add a whole use
 * and so lower the rate of a proven memory. So a signal neither promotes nor deletes a memory.
 */
export function afterSignal(standing: Standing, signal: Signal, atMs: number): Standing {
  const { outcome, weight } = SIGNALS[signal];
  const { score } = afterOutcome(standing, { outcome, atMs, reason: null, weight });
  return { ...standing, score: Math.max(score, Math.min(standing.score, SCORES.deletion)) };
}
