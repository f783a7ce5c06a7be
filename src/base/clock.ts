/**
 * Clock that can be replaced: the simulation runs a client on a simulated clock. The clock is monotonic, so a change of the machine's clock
 * does not change a wait.
 */
export type Timer = { clear(): void };

export type Clock = {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** Calls `call` after `ms`, or soon if `ms` is negative. */
  after(ms: number, call: () => void): Timer;
};

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    // For a negative time Node prints a warning to stderr, and an agent shows a hook's stderr to the user.
    const timer = setTimeout(call, Math.max(ms, 0));
    return { clear: () => clearTimeout(timer) };
  },
};

/** Returns the local day, in the form 2026-11-29. */
export function localDay(atMs: number): string {
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
