/** Weights an outcome by the time since the last use. Pure. Source: outcome-memory.md 2.5. */

const DAY_MS = 86_400_000;
const HALF_AFTER_DAYS = 30;

/** Returns 1 for a memory used today or never, or after the clock was set back; one half after 30 whole days. */
export function timeWeight(lastUsedMs: number | null, nowMs: number): number {
  if (lastUsedMs === null) return 1;
  const days = Math.max(Math.floor((nowMs - lastUsedMs) / DAY_MS), 0);
  return 1 / (1 + days / HALF_AFTER_DAYS);
}
