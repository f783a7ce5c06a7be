/** Weights an outcome by the time since the last use (outcome-memory.md 2.5). Pure. */

const DAY_MS = 86_400_000;
const HALF_AFTER_DAYS = 30;

/** Returns 1 for a memory that was used today or never, or if the clock was set back; one half after 30 whole days. */
export function timeWeight(lastUsedMs: number | null, nowMs: number): number {
  if (lastUsedMs === null) return 1;
  const days = Math.max(Math.floor((nowMs - lastUsedMs) / DAY_MS), 0);
  return 1 / (1 + days / HALF_AFTER_DAYS);
}
