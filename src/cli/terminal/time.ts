/** Parses times as people type them: a day, a minute, or how long ago. */
import { wrongUsage } from "../../base/errors.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Errors: CONFIG_USAGE if `value` is not a time. */
export function readTime(value: string, name: string, now: number): number {
  const ago = /^(\d{1,6})([smhd])$/.exec(value);
  if (ago !== null) return now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const time = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(`${value}T00:00`) : Date.parse(value);
  if (!Number.isNaN(time)) return time;
  throw wrongUsage(`--${name} ${value} is not a time`, `write --${name} 2h, or --${name} 2026-11-22T14:30`);
}
