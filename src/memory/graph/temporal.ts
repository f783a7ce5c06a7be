/** Checks and compares the times of facts, in upstream's two forms (palace.md 2.6). A fact and its successor are never valid at once. */
import { isOnCalendar, localDate, pythonRepr, strip } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Matches a moment with `Z` or an offset. For `Z` both groups are empty. */
const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|([+-](?:[01]\d|2[0-3])):?([0-5]\d))$/;
/** Matches the forms that MemPalace 3.3.4 and older stored without a check, also without a zone and with fractions of a second. */
const STORED = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/**
 * Returns a date, or a moment in UTC as `YYYY-MM-DDTHH:MM:SSZ`; null for a missing value or "", which agents send for "not given". Changes
 * an offset to UTC, which every MemPalace can read. Errors: InvalidValue in upstream's words.
 */
export function validTemporal(value: unknown, field: string): string | null {
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string") throw new InvalidValue(`${field} must be a string`);
  const text = strip(value);
  const taken = isOnCalendar(text.slice(0, 10)) ? (DATE.test(text) ? text : utcOf(text)) : undefined;
  if (taken === undefined)
    throw new InvalidValue(
      `${field}=${pythonRepr(text)} is not a valid ISO-8601 date or UTC datetime (expected YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ)`,
    );
  return taken;
}

/** Changes a moment with `Z` or an offset to UTC. Returns undefined for any other text, or if the year in UTC is not from 1 to 9999. */
function utcOf(text: string): string | undefined {
  const [found, hours = "+00", minutes = "00"] = WITH_OFFSET.exec(text) ?? [];
  if (found === undefined) return undefined;
  const utc = new Date(`${text.slice(0, 19)}${hours}:${minutes}`).toISOString();
  return /^(?!0000)\d{4}-/.test(utc) ? `${utc.slice(0, 19)}Z` : undefined;
}

/** Returns a moment. A date becomes its first second, UTC. */
export function asMoment(value: string): string {
  return DATE.test(value) ? `${value}T00:00:00Z` : value;
}

/** Returns true if the end is before the start. A date means its first second as a start, and its last second as an end. */
export function isInverted(validFrom: string | null, validTo: string | null): boolean {
  return validFrom !== null && validTo !== null && compare(endOf(validTo), asMoment(validFrom)) < 0;
}

export function holdsAt(fact: { validFrom: string | null; validTo: string | null }, moment: string): boolean {
  return !startsAfter(fact, moment) && !endsBy(fact, moment);
}

export function startsAfter({ validFrom }: { validFrom: string | null }, moment: string): boolean {
  return validFrom !== null && compare(asMoment(validFrom), asMoment(moment)) > 0;
}

export function endsBy({ validTo }: { validTo: string | null }, moment: string): boolean {
  return validTo !== null && compare(endOf(validTo), asMoment(moment)) <= 0;
}

/** Returns true if the fact has ended by `moment`. A fact that ended today is over, although a query for today still finds it. */
export function isOver(fact: { validTo: string | null }, { moment, today }: Now): boolean {
  return fact.validTo !== null && DATE.test(fact.validTo) ? fact.validTo <= today : endsBy(fact, moment);
}

export type Now = { moment: string; today: string };

/** Returns the current moment. `today` is the later of the local and the UTC day, so a fact that ended on the local day is over. */
export function nowAt(atMs: number): Now {
  const moment = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const [utc, local] = [moment.slice(0, 10), localDate(atMs * 1000)];
  return { moment, today: utc > local ? utc : local };
}

function endOf(value: string): string {
  return DATE.test(value) ? `${value}T23:59:59Z` : value;
}

/** Compares two times, even of different time zones. Compares them as text if one is not a full moment, as upstream does. */
function compare(a: string, b: string): number {
  const [left, right] = [millisOf(a), millisOf(b)];
  if (left !== undefined && right !== undefined) return left - right;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns a moment as Unix time, ms. A moment without a zone counts as UTC, which gives the same result as upstream's text comparison. */
function millisOf(value: string): number | undefined {
  const [, date, minutes, seconds = ":00", zone = "Z"] = STORED.exec(value) ?? [];
  if (date === undefined) return undefined;
  const millis = Date.parse(`${date}T${minutes}${seconds}${zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2")}`);
  return Number.isNaN(millis) ? undefined : millis;
}
