/** Throws if `condition` is false, which is a bug. The process then ends: a restart is better than a wrong write. */
export function invariant(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${why}`);
}
