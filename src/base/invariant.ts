/** Facts that hold unless the code is wrong. A broken one ends the process: restart is cheap, a wrong write is not. */
export function invariant(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${why}`);
}
