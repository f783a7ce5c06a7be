/**
 * When a fact holds: upstream's two forms of a moment (palace.md 2.6), and the half-open interval from the start to before the
 * end (palace.md 11, since 3.6.0), so that a fact and its successor never hold at once. Pure; used by facts.ts.
 */
import { localDate, strip } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const UTC = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|\+00:00)$/;
/** What 3.3.4 and older stored unchecked: any zone, none, fractions. */
const STORED = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/** A date or a UTC moment in upstream's canonical form; null where none is given. Agents send "" for "not given". */
export function validTemporal(value: unknown, field: string): string | null {
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string") throw new InvalidValue(`${field} must be a string`);
  const text = strip(value);
  if (!(DATE.test(text) || UTC.test(text)) || !isOnCalendar(text.slice(0, 10)))
    throw new InvalidValue(
      `${field}=${pythonRepr(text)} is not a valid ISO-8601 date or UTC datetime (expected YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ)`,
    );
  return text.replace("+00:00", "Z");
}

/** The moment a boundary is set to: a bare date is its first second, so that both sides of it carry the same moment. */
export function asMoment(value: string): string {
  return DATE.test(value) ? `${value}T00:00:00Z` : value;
}

/** A date as an end means its last second, as a start or a question its first. */
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

/**
 * Is it over for who speaks of it at that moment, a day being `today`? A fact that was ended today is, whatever a question about
 * a moment of today is answered: `ended` is a date where nobody gave one, and that date's last second is still to come.
 */
export function isOver(fact: { validTo: string | null }, { moment, today }: Now): boolean {
  return fact.validTo !== null && DATE.test(fact.validTo) ? fact.validTo <= today : endsBy(fact, moment);
}

export type Now = { moment: string; today: string };

/** The clock's. `today` is the later of the days here and in UTC: an end that was not given is written as the day here. */
export function nowAt(atMs: number): Now {
  const moment = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const [utc, local] = [moment.slice(0, 10), localDate(atMs * 1000)];
  return { moment, today: utc > local ? utc : local };
}

function endOf(value: string): string {
  return DATE.test(value) ? `${value}T23:59:59Z` : value;
}

/** By moment, whatever zone they are written in; as text, like upstream, where one of them is no full moment. */
function compare(a: string, b: string): number {
  const [left, right] = [millisOf(a), millisOf(b)];
  if (left !== undefined && right !== undefined) return left - right;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A moment without a zone is taken as UTC, as upstream's comparison of texts has it. */
function millisOf(value: string): number | undefined {
  const [, date, minutes, seconds = ":00", zone = "Z"] = STORED.exec(value) ?? [];
  if (date === undefined) return undefined;
  const millis = Date.parse(`${date}T${minutes}${seconds}${zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2")}`);
  return Number.isNaN(millis) ? undefined : millis;
}

function isOnCalendar(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`);
  return !date.startsWith("0000") && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}

/** Python's repr() of a string: upstream's messages quote what they refuse. */
export function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
  const escaped = text.replaceAll(/[\p{C}\p{Z}\\'"]/gu, (char) => {
    if (named[char] !== undefined) return named[char];
    if (char === " " || char === "'" || char === '"') return char;
    const code = char.codePointAt(0) ?? 0;
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(digits as number, "0")}`;
  });
  return quote + escaped + quote;
}
