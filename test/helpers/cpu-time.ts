/**
 * Measures work in processor time, for tests that compare two amounts of work. Other processes affect this time only by emptying the
 * processor's caches.
 */
import { threadCpuUsage } from "node:process";

/** Returns milliseconds of this thread's processor time. `work` is synchronous. */
export function cpuTimeOf(work: () => unknown): number {
  const before = threadCpuUsage();
  work();
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1000;
}

const GROWTH_ATTEMPTS = 8;
/** Maximum growth for ten times the input. It is between the growth of linear work (10) and of quadratic work (100). */
export const GROWTH_MAX = 40;

/**
 * Returns how many times longer `work` takes for ten times the size: about 10 if it is linear, about 100 if it is quadratic. A busy machine
 * gets several attempts, and the least counts.
 */
export function growthOf(work: (size: number) => unknown, size: number): number {
  work(size);
  let growth = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < GROWTH_ATTEMPTS && growth >= GROWTH_MAX; attempt++) {
    // Small pieces of work are too short to measure one by one.
    const times = size < 1_000 ? 10 : 1;
    const repeated = (count: number, of: number): number =>
      cpuTimeOf(() => Array.from({ length: count }, () => work(of))) / count;
    growth = Math.min(growth, repeated(times, 10 * size) / Math.max(repeated(10 * times, size), 0.001));
  }
  return growth;
}
