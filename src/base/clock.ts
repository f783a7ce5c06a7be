/**
 * Time as a part that can be replaced: the simulation runs a client on a clock of its own. Monotonic, so that a step of
 * the machine's clock by an hour does not make anybody wait for an hour.
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
    // Node warns on stderr of a negative time, and a hook's stderr is shown to its user.
    const timer = setTimeout(call, Math.max(ms, 0));
    return { clear: () => clearTimeout(timer) };
  },
};
