/** Measures real time, even if the machine's clock is changed. The kernel counts this time from the machine's start. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { isRecord } from "./parse-json.ts";
import { orElse } from "./or-else.ts";

/** A moment by the machine's clock and by the time since the machine started. `bootId` identifies that start. */
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
 * Returns the time between two moments, ms, and never more than really passed. If the machine was restarted, only its clock shows how long
 * it was off, and the clock may be wrong. So the time off counts for at most `offMaxMs`, and for at most the uptime before.
 */
export function passedMs(since: Moment, now: Moment, offMaxMs: number): number {
  const byClockMs = Math.max(0, now.wallMs - since.wallMs);
  const isSameStart = now.bootId === since.bootId && now.uptimeMs >= since.uptimeMs;
  if (isSameStart && now.bootId !== UNKNOWN) return now.uptimeMs - since.uptimeMs;
  // The machine was restarted, the palace was moved to another machine, or the machine does not report its start.
  const ranMs = Math.min(byClockMs, isSameStart ? now.uptimeMs - since.uptimeMs : now.uptimeMs);
  return ranMs + Math.min(byClockMs - ranMs, offMaxMs, since.uptimeMs);
}

export function bootId(): string {
  return orElse(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), UNKNOWN);
}
