/** Returns the result of `work`, or undefined after `timeoutMs`, while the work continues. Errors: the errors of `work`. */
import { type Clock, SYSTEM_CLOCK, type Timer } from "./clock.ts";

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
