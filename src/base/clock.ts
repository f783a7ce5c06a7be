/** Monotonic clock, which is independent of the machine's clock. Tests replace it by a simulated clock. */
export type Timer = { clear(): void };

export type Clock = {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  after(ms: number, call: () => void): Timer;
};

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    // For a negative time Node prints a warning to stderr, which an agent that runs a hook shows to the user.
    const timer = setTimeout(call, Math.max(ms, 0));
    return { clear: () => clearTimeout(timer) };
  },
};

/** Returns the local day, in the form 2026-11-29. */
export function localDay(atMs: number): string {
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
