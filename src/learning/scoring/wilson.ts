/** Estimates how certain a success rate is after a number of uses (outcome-memory.md 2.9). Pure. */

/** Normal quantile of a two-sided 95 % interval. */
const Z = 1.959963984540054;

/** Returns the lower bound of Wilson's score interval; 0.5 for 0 uses. */
export function wilson(successes: number, uses: number): number {
  if (uses === 0) return 0.5;
  const rate = Math.min(successes / uses, 1);
  const square = Z ** 2;
  const spread = Z * Math.sqrt((rate * (1 - rate)) / uses + square / (4 * uses ** 2));
  return Math.max(0, (rate + square / (2 * uses) - spread) / (1 + square / uses));
}

/** Returns the next use's expected success rate. By the lower bound, three successes (0.44) would rank below an untried memory. */
export function expected(successes: number, uses: number): number {
  return (Math.min(successes, uses) + (Z * Z) / 2) / (uses + Z * Z);
}
