/**
 * Clock that can be replaced: the simulation runs a client on a simulated one. It is monotonic, so changing the machine's clock by an hour
 * makes nobody wait an hour.
 */
export type Timer = { clear(): void };

export type Clock = {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** Calls back after `ms`, or soon if `ms` is negative. */
  after(ms: number, call: () => void): Timer;
};

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    // Node warns about a negative time on stderr, which an agent shows to the user of a hook.
    const timer = setTimeout(call, Math.max(ms, 0));
    return { clear: () => clearTimeout(timer) };
  },
};

/** Returns the day of this machine's clock, as 2026-11-29. */
export function localDay(atMs: number): string {
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
