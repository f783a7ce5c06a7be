/** Applies signals: outcomes that a host observes, without a report by a person or agent. Pure. */
import type { OutcomeSource, Signal, Standing, Telling } from "../../memory/port/outcome.ts";
import { afterOutcome } from "./apply-outcome.ts";
import { SCORES } from "./promotion.ts";

/** Outcome for a signal. A person's outcome has the weight 1. `of`: the turn whose answer the signal judges. */
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

/** Changes only the score: if a signal counted as a use, its partial success would lower the success rate of a proven memory. */
export function afterSignal(standing: Standing, signal: Signal, atMs: number): Standing {
  const { outcome, weight } = SIGNALS[signal];
  const { score } = afterOutcome(standing, { outcome, atMs, reason: null, weight });
  return { ...standing, score: Math.max(score, Math.min(standing.score, SCORES.deletion)) };
}
