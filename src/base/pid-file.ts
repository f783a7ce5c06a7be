/** Lock files that contain the pid of the lock's holder. */
import { openSync, readFileSync, rmSync, statSync } from "node:fs";
import { isAlive } from "./alive.ts";

/** Age after which the lock has no effect, because the pid may belong to another process. */
export const HELD_MAX_MS = 2 * 3_600_000;
/** Age after which an empty file has no effect. Writing the pid takes far less time. */
const EMPTY_MAX_MS = 10_000;

/** Makes the file. The caller writes its pid to the returned descriptor. Returns undefined if a living process has the lock. */
export function takePidFile(path: string): number | undefined {
  for (const isRetry of [false, true]) {
    try {
      return openSync(path, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (isRetry || isHeld(path)) return undefined;
      rmSync(path, { force: true });
    }
  }
  return undefined;
}

/** Returns 0 if the file does not begin with a number. */
export function pidIn(path: string): number {
  return Number.parseInt(readFileSync(path, "utf8"), 10) || 0;
}

function isHeld(path: string): boolean {
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    const pid = pidIn(path);
    // A file that stays empty is from a process that was killed before it wrote its pid.
    return pid === 0 ? ageMs < EMPTY_MAX_MS : ageMs < HELD_MAX_MS && isAlive(pid);
  } catch {
    return false;
  }
}
