/** Converts the time bounds `since` and `before` to the broker's local time (upstream-latest.md 2.1). MemPalace 3.11 ignores offsets. */
import { isOnCalendar, localTimestamp, pythonRepr, strip } from "./text.ts";
import { InvalidValue } from "./validate.ts";

export type Window = { since?: string; before?: string };

const STAMP =
  /^(\d{4}-\d\d-\d\d)(?:[T ]([01]\d|2[0-3])(?::([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?)?([+-]\d\d(?::?\d\d){0,2})?)?$/;
const OFFSET = /^([+-])([01]\d|2[0-3]):?([0-5]\d)?:?([0-5]\d)?$/;

/** Checks the bounds `since` and `before`. Errors: InvalidValue with upstream's words. */
export function validWindow(values: Record<string, unknown>): Window {
  const since = validBound(values["since"], "since");
  const before = validBound(values["before"], "before");
  if (since !== undefined && before !== undefined && since >= before)
    throw new InvalidValue(
      `since (${pythonRepr(values["since"] as string)}) must be earlier than before (${pythonRepr(values["before"] as string)})`,
    );
  return { ...(since !== undefined && { since }), ...(before !== undefined && { before }) };
}

/** Formats a bound as upstream writes filed_at. Midnight becomes only the date: as text, a date sorts before every moment of its day. */
export function validBound(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new InvalidValue(`${field} must be an ISO date string`);
  const text = strip(value);
  if (text === "") return undefined;
  const isUtc = /[Zz]$/.test(text);
  const [, day = "", hour, minute = "00", second = "00", fraction = "", offset = isUtc ? "+00" : undefined] =
    STAMP.exec(isUtc ? text.slice(0, -1) : text) ?? [];
  const clock = `${hour ?? "00"}:${minute}:${second}`;
  // An offset after a date without a time is ignored: the date means the broker's own day.
  const local = isOnCalendar(day) ? localClock(`${day}T${clock}`, hour === undefined ? undefined : offset) : undefined;
  if (local === undefined)
    throw new InvalidValue(
      `${field} must be an ISO date string (e.g. '2026-04-01' or '2026-04-01T09:30:00'), got ${pythonRepr(text)}`,
    );
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  const stamp = micros === "000000" ? local : `${local}.${micros}`;
  return stamp.endsWith("T00:00:00") ? stamp.slice(0, 10) : stamp;
}

/** Returns a moment in local time. Undefined if the offset is a day or more, or if the year in local time is not from 1 to 9999. */
function localClock(stamp: string, offset: string | undefined): string | undefined {
  if (offset === undefined) return stamp;
  const [found, sign, hours = "", minutes = "00", seconds = "00"] = OFFSET.exec(offset) ?? [];
  if (found === undefined) return undefined;
  const ahead = Date.parse(`1970-01-01T${hours}:${minutes}:${seconds}Z`);
  const local = localTimestamp(1000 * (Date.parse(`${stamp}Z`) + (sign === "-" ? ahead : -ahead)));
  return /^(?!0000)\d{4}-/.test(local) ? local : undefined;
}
