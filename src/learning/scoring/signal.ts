/**
 * Effects of signals, which are outcomes without a person or agent to tell them: which memories of a turn each concerns, and how it
 * changes a standing. Pure.
 */
import type { OutcomeSource, Signal, Standing, Telling } from "../../memory/port/outcome.ts";
import { afterOutcome } from "./apply-outcome.ts";
import { SCORES } from "./promotion.ts";

/**
 * Effect of a signal. `weight`: belief in it, relative to an outcome from an agent or a user, which has 1. `of`: this turn's answer, or
 * the one before.
 */
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
 * Applies a signal, which changes only the score. Uses and successes count real judgments: half a success from a signal would add a whole
 * use, and lower what is proven. So a signal alone never promotes a memory, and never lowers its score to where memories are deleted.
 */
export function afterSignal(standing: Standing, signal: Signal, atMs: number): Standing {
  const { outcome, weight } = SIGNALS[signal];
  const { score } = afterOutcome(standing, { outcome, atMs, reason: null, weight });
  return { ...standing, score: Math.max(score, Math.min(standing.score, SCORES.deletion)) };
}
