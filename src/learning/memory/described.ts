/** Formats a memory's age and its last outcomes. Pure. Source: outcome-memory.md 2.12. */
import type { PastOutcome } from "../../memory/port/outcome.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MONTH_DAYS = 30;
const YEAR_DAYS = 365;
const SHOWN = 3;
const DAY_LENGTH = 10;
const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const SIGNS = { worked: "Y", failed: "N", partial: "~" } as const;

/** Formats an age such as `2d` or `5mo`; `now` if it is less than a minute or negative. */
export function age(atMs: number, nowMs: number): string {
  const ms = Math.max(nowMs - atMs, 0);
  const days = Math.floor(ms / DAY_MS);
  if (days > YEAR_DAYS) return `${Math.floor(days / YEAR_DAYS)}y`;
  if (days > MONTH_DAYS) return `${Math.floor(days / MONTH_DAYS)}mo`;
  if (days >= 1) return `${days}d`;
  if (ms >= HOUR_MS) return `${Math.floor(ms / HOUR_MS)}h`;
  return ms >= MINUTE_MS ? `${Math.floor(ms / MINUTE_MS)}m` : "now";
}

/** Formats an age in words, in hours from one hour on: `just now`, `5 minutes ago`, `30 hours ago`. */
export function recency(atMs: number, nowMs: number): string {
  const minutes = Math.floor(Math.max(nowMs - atMs, 0) / MINUTE_MS);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} minutes ago` : `${Math.floor(minutes / 60)} hours ago`;
}

/** Formats the last three outcomes, oldest first, as `[YN~]` (worked, failed, partial); empty without outcomes. */
export function pastSigns(past: readonly Pick<PastOutcome, "outcome">[]): string {
  const signs = past.slice(-SHOWN).map(({ outcome }) => SIGNS[outcome]);
  return signs.length === 0 ? "" : `[${signs.join("")}]`;
}

/** Parses an ISO time, in UTC if it has no zone. Returns NaN for any other value. */
export function timeOf(text: unknown): number {
  if (typeof text !== "string" || !ISO.test(text)) return Number.NaN;
  // `Date.parse` reads a date without a time as UTC.
  return Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) && text.length > DAY_LENGTH ? text : utc(text));
}

function utc(text: string): string {
  return text.length === DAY_LENGTH ? text : `${text}Z`;
}
