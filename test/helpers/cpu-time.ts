/**
 * Measures work in processor time, for tests that compare two amounts of it: other processes do not count, except for the
 * caches they empty.
 */
import { threadCpuUsage } from "node:process";

/** Returns milliseconds of this thread's processor time. `work` is synchronous. */
export function cpuTimeOf(work: () => unknown): number {
  const before = threadCpuUsage();
  work();
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1000;
}
