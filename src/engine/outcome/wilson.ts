/** How sure a success rate is after so many uses. Pure. Source: outcome-memory.md 2.9. */

/** Two-sided 95 %. */
const Z = 1.959963984540054;

/** The lower bound of Wilson's score interval; 0.5 where there is nothing to go by. */
export function wilson(successes: number, uses: number): number {
  if (uses === 0) return 0.5;
  const rate = Math.min(successes / uses, 1);
  const square = Z ** 2;
  const spread = Z * Math.sqrt((rate * (1 - rate)) / uses + square / (4 * uses ** 2));
  return Math.max(0, (rate + square / (2 * uses) - spread) / (1 + square / uses));
}

/**
 * The centre of the same interval: what the next use is expected to bring, 0…1. It grows with each success, where the lower bound
 * puts what has worked three times (0.44) below what was never tried (0.5).
 */
export function expected(successes: number, uses: number): number {
  return (Math.min(successes, uses) + (Z * Z) / 2) / (uses + Z * Z);
}
