/** Runs work that can wait in the pauses between writes. */
import type { Log } from "../../base/log.ts";

/** Time without a write after which the work starts. */
const QUIET_MS = 500;
/** Maximum time for which writes delay the work. */
const QUIET_WAIT_MAX_MS = 10_000;

/** Runs `step` in pauses between writes, and again while it returns true. */
export function whenQuiet(step: () => Promise<boolean>, log: Log): { wake(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let wokenAtMs: number | undefined;
  let stopped = false;
  const run = async (): Promise<void> => {
    wokenAtMs = undefined;
    let more = false;
    try {
      more = await step();
    } catch (error) {
      log.error("maintenance failed", { why: String(error) });
    }
    if (more && wokenAtMs === undefined) schedule(0);
  };
  const schedule = (afterMs: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void run(), afterMs).unref();
  };
  return {
    wake: () => {
      wokenAtMs ??= performance.now();
      schedule(performance.now() - wokenAtMs > QUIET_WAIT_MAX_MS ? 0 : QUIET_MS);
    },
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
