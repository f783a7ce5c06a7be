/** Computes how far to trust a memory for one question. The constants were tuned with seeds 11 to 13 of `npm run bench:learning`. */
import type { PastOutcome, Telling } from "../../memory/port/outcome.ts";

/** Outcome of a memory. `isHere`: it was recorded for a question like this one. */
export type Heard = { outcome: Telling; isHere: boolean };

/** Likelihood that an untried memory helps. Above 0.5, so that it ranks before a memory that failed once. */
const UNTRIED = 0.6;
/** Likelihood that a memory has become helpful or misleading since its last outcome. It makes the newest outcomes count most. */
const CHANGE = 0.05;
/** The estimate begins as if 4 pairs of successive outcomes were known, of which 0.2 pairs contradict each other. */
const PRIOR = { pairs: 4, contradictions: 0.2 } as const;
/** Lower limit of the estimated share of wrong outcomes, because every source is sometimes wrong. */
const WRONG_LEAST = 0.01;
/** Upper limit of the share of contradicting pairs. At one half, outcomes would be mere chance. */
const CONTRADICTIONS_MOST = 0.49;
/** Evidence of a `partial`, as a share of the evidence of a `worked`. */
const PARTIAL = 0.25;

/** Estimates the share of wrong outcomes, 0.01…0.43, by how often an outcome contradicts the same memory's previous outcome. */
export function wrongShare(pasts: readonly (readonly PastOutcome[])[]): number {
  let pairs: number = PRIOR.pairs;
  let contradictions: number = PRIOR.contradictions;
  for (const past of pasts)
    for (const [at, { outcome }] of past.entries()) {
      const before = past[at - 1]?.outcome;
      if (before === undefined || before === "partial" || outcome === "partial") continue;
      pairs += 1;
      if (before !== outcome) contradictions += 1;
    }
  const share = Math.min(contradictions / pairs, CONTRADICTIONS_MOST);
  return Math.max((1 - Math.sqrt(1 - 2 * share)) / 2, WRONG_LEAST);
}

/** Returns the factor for a memory's rank, 0…1.67; 1 without outcomes. A memory that helped only with other questions gets at most 1. */
export function trust(past: readonly Heard[], wrong: number): number {
  const evidence = Math.log((1 - wrong) / wrong);
  let likely = UNTRIED;
  for (const { outcome } of past) {
    const still = likely * (1 - CHANGE) + (1 - likely) * CHANGE;
    const odds = (still / (1 - still)) * Math.exp(evidence * SAYS[outcome]);
    likely = odds / (1 + odds);
  }
  const hasHelpedHere = past.some(({ outcome, isHere }) => isHere && outcome !== "failed");
  return (hasHelpedHere ? likely : Math.min(likely, UNTRIED)) / UNTRIED;
}

const SAYS: Readonly<Record<Telling, number>> = { worked: 1, partial: PARTIAL, failed: -1 };
