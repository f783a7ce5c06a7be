/**
 * Computes how far to trust a memory for one question, from its outcomes in their order. Pure; the original has no such rule. The
 * constants were chosen on seeds 11 to 13 of `npm run bench:learning`, which measures others.
 */
import type { PastOutcome, Telling } from "../../memory/port/outcome.ts";

/** Outcome of a memory. `isHere`: it was recorded for a question like this one. */
export type Heard = { outcome: Telling; isHere: boolean };

/** Likelihood that a memory without outcomes helps. Above a half, so that new memories are tried before memories that failed once. */
const UNTRIED = 0.6;
/** Likelihood that a memory turned from helpful to misleading, or back, since its last outcome. The newest outcomes therefore count most. */
const CHANGE = 0.05;
/** Assumed before much is known: so many pairs of outcomes of which so many contradict each other. */
const PRIOR = { pairs: 4, contradictions: 0.2 } as const;
/** Nobody is never wrong. */
const WRONG_LEAST = 0.01;
/** At half of the pairs outcomes are chance. */
const CONTRADICTIONS_MOST = 0.49;
/** Share of a `worked` that `partial` counts. */
const PARTIAL = 0.25;

/**
 * Estimates which part of all outcomes is wrong, 0.01…0.43, by how often an outcome contradicts the one before it of the same memory. Two
 * outcomes of a memory differ if one of them is wrong and the other is not.
 */
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

/**
 * Returns the likelihood that the memory helps, divided by that of an untried one: 1 without outcomes, 0…1.67. One `failed` counts the
 * more, the fewer outcomes are wrong. A memory that helped with other questions only is trusted as an untried one at most.
 */
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
