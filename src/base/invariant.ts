/** Ends the process if `condition` is false, because then the code is wrong. A restart is cheap, a wrong write is not. */
export function invariant(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${why}`);
}
