/**
 * Time bounds of search and list, `[since, before)` over `filed_at` (upstream-latest.md 2.1). Pure. They are compared
 * in local time: an offset is dropped, because filed_at has none.
 */
import { pythonRepr } from "./python-repr.ts";
import { strip } from "./text.ts";
import { InvalidValue } from "./validate.ts";

export type Window = { since?: string; before?: string };

const STAMP =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?:[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?$/;

/** Errors: InvalidValue with upstream's words. */
export function validWindow(values: Record<string, unknown>): Window {
  const since = validBound(values["since"], "since");
  const before = validBound(values["before"], "before");
  if (since !== undefined && before !== undefined && since >= before)
    throw new InvalidValue(
      `since (${pythonRepr(values["since"] as string)}) must be earlier than before (${pythonRepr(values["before"] as string)})`,
    );
  return { ...(since !== undefined && { since }), ...(before !== undefined && { before }) };
}

/**
 * Formats as upstream writes filed_at; midnight becomes the date alone, which also as text is no later than any moment
 * of its day.
 */
export function validBound(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new InvalidValue(`${field} must be an ISO date string`);
  const text = strip(value);
  if (text === "") return undefined;
  const match = STAMP.exec(/[Zz]$/.test(text) ? text.slice(0, -1) : text);
  const [, year = "", month = "", day = "", hour = "00", minute = "00", second = "00", fraction = ""] = match ?? [];
  const isReal =
    match !== null && isDay(Number(year), Number(month), Number(day)) && hour < "24" && minute < "60" && second < "60";
  if (!isReal)
    throw new InvalidValue(
      `${field} must be an ISO date string (e.g. '2026-04-01' or '2026-04-01T09:30:00'), got ${pythonRepr(text)}`,
    );
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  const time = `${hour}:${minute}:${second}${micros === "000000" ? "" : `.${micros}`}`;
  return time === "00:00:00" ? `${year}-${month}-${day}` : `${year}-${month}-${day}T${time}`;
}

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  if (year < 100) date.setUTCFullYear(year);
  return year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
