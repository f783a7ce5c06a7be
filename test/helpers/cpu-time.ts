/** Measures work in processor time, so other processes hardly disturb a comparison of two amounts of work. */
import { threadCpuUsage } from "node:process";

/** Returns the processor time, ms, that this thread needs for synchronous work. */
export function cpuTimeOf(work: () => unknown): number {
  const before = threadCpuUsage();
  work();
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1000;
}

const GROWTH_ATTEMPTS = 8;
/** Maximum growth of work for ten times the input: above linear (10), below quadratic (100). */
export const GROWTH_MAX = 40;

/** Returns how many times longer `work` takes for ten times the size. Measures several times on a busy machine and returns the minimum. */
export function growthOf(work: (size: number) => unknown, size: number): number {
  work(size);
  let growth = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < GROWTH_ATTEMPTS && growth >= GROWTH_MAX; attempt++) {
    // Repeats small work, because one run is too short to measure.
    const times = size < 1_000 ? 30 : 1;
    const repeated = (count: number, of: number): number =>
      cpuTimeOf(() => Array.from({ length: count }, () => work(of))) / count;
    growth = Math.min(growth, repeated(times, 10 * size) / Math.max(repeated(10 * times, size), 0.001));
  }
  return growth;
}
