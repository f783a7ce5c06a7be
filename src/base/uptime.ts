/** Measures how much time has passed, even if the machine's clock was changed or the machine was restarted. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { isRecord } from "./parse-json.ts";
import { orElse } from "./or-else.ts";

/** A moment by the clock and by the time since the machine's start. `bootId` identifies that start. */
export type Moment = { wallMs: number; uptimeMs: number; bootId: string };

const UNKNOWN = "unknown";

export function moment(): Moment {
  return { wallMs: Date.now(), uptimeMs: Math.trunc(uptime() * 1000), bootId: bootId() };
}

export function isMoment(value: unknown): value is Moment {
  return (
    isRecord(value) &&
    ["wallMs", "uptimeMs"].every((name) => Number.isFinite(value[name])) &&
    typeof value["bootId"] === "string"
  );
}

/**
 * Returns the time between two moments, ms. After a restart only the clock shows how long the machine was off, and the clock may be wrong.
 * So the time off counts as at most `offMaxMs` and at most `since.uptimeMs`.
 */
export function passedMs(since: Moment, now: Moment, offMaxMs: number): number {
  const byClockMs = Math.max(0, now.wallMs - since.wallMs);
  const isSameStart = now.bootId === since.bootId && now.uptimeMs >= since.uptimeMs;
  if (isSameStart && now.bootId !== UNKNOWN) return now.uptimeMs - since.uptimeMs;
  // After a restart, on another machine or without a boot id, adds the time that the machine surely ran and a limited time off.
  const ranMs = Math.min(byClockMs, isSameStart ? now.uptimeMs - since.uptimeMs : now.uptimeMs);
  return ranMs + Math.min(byClockMs - ranMs, offMaxMs, since.uptimeMs);
}

export function bootId(): string {
  return orElse(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), UNKNOWN);
}
