/**
 * How long work takes on the processor, for tests that compare two lengths of it: what other processes do beside it does not count, but
 * for the caches they empty.
 */
import { threadCpuUsage } from "node:process";

/** Milliseconds of this thread's processor time. `work` is synchronous. */
export function cpuTimeOf(work: () => unknown): number {
  const before = threadCpuUsage();
  work();
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1000;
}
