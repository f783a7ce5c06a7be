/** Throws if `condition` is false, which only a bug can cause. The process then ends, because a restart is better than a wrong write. */
export function invariant(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${why}`);
}
