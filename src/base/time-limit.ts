/** Bounded waiting. */
import { type Clock, SYSTEM_CLOCK, type Timer } from "./clock.ts";

/** The work's value, or undefined when it takes longer; the work then continues unobserved. Errors: the work's. */
export async function within<T>(
  work: Promise<T> | undefined,
  timeoutMs: number,
  clock: Clock = SYSTEM_CLOCK,
): Promise<T | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((resolve) => (timer = clock.after(timeoutMs, () => resolve(undefined))));
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.clear();
  }
}
