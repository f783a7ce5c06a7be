/**
 * Dates in a question: "on 8 May 2023", "in March", and "last week" where the current day is known. Pure; used by choose.ts, which moves
 * drawers of those days up and removes no other drawer. An uncertain date is ignored.
 */

/** `agrees` takes the date of a drawer, YYYY-MM-DD. */
export type AskedDate = { label: string; agrees: (date: string) => boolean };

const MONTHS = "january february march april may june july august september october november december".split(" ");
const MONTH = `(${MONTHS.join("|")}|${MONTHS.filter((name) => name !== "may")
  .map((name) => name.slice(0, 3))
  .join("|")}|sept)`;
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "((?:19|20)\\d\\d)";
const DAY_MS = 86_400_000;

type Read = (parts: readonly (string | undefined)[], now: number | undefined) => AskedDate["agrees"] | undefined;

/** Applied in this order; later patterns do not read what an earlier one has matched. */
const PATTERNS: readonly (readonly [pattern: string, read: Read])[] = [
  [`${YEAR}-(\\d\\d)-(\\d\\d)`, ([year, month, day]) => onDay(Number(year), Number(month), Number(day))],
  [`${DAY}(?: of)? ${MONTH},? ${YEAR}`, ([day, month, year]) => onDay(Number(year), monthOf(month), Number(day))],
  [`${MONTH} ${DAY},? ${YEAR}`, ([month, day, year]) => onDay(Number(year), monthOf(month), Number(day))],
  [`${MONTH},?(?: of)? ${YEAR}`, ([month, year]) => startingWith(`${year ?? ""}-${two(monthOf(month))}`)],
  [`${DAY}(?: of)? ${MONTH}`, ([day, month]) => anyYear(monthOf(month), Number(day))],
  [`${MONTH} ${DAY}(?! ?(?:am|pm|%|:))`, ([month, day]) => anyYear(monthOf(month), Number(day))],
  // Without a preposition "may" and "march" are ordinary words.
  [`(?:in|during|since|throughout|back in) (?:early |late |mid-?)?${MONTH}`, ([month]) => anyYear(monthOf(month))],
  [`(?:in|during|throughout) ${YEAR}`, ([year]) => startingWith(`${year ?? ""}-`)],
  ["today", (_, now) => days(now, 0, 0)],
  ["yesterday", (_, now) => days(now, 1, 1)],
  ["(\\d{1,3}) days? ago", ([count], now) => days(now, Number(count), Number(count))],
  ["(last|this) week", ([which], now) => week(now, which === "last" ? 1 : 0)],
  ["(last|this) month", ([which], now) => month(now, which === "last" ? 1 : 0)],
  ["(last|this) year", ([which], now) => year(now, which === "last" ? 1 : 0)],
];

const COMPILED = PATTERNS.map(([pattern, read]) => ({ pattern: new RegExp(`\\b${pattern}\\b`, "gi"), read }));

/** Returns the dates in a question. `now`: the asker's current day, YYYY-MM-DD…; without it, "last week" does not count as a date. */
export function askedDates(query: string, now: string | undefined): AskedDate[] {
  const nowMs = now === undefined ? Number.NaN : Date.parse(`${now.slice(0, 10)}T00:00:00Z`);
  const found: AskedDate[] = [];
  let rest = query;
  for (const { pattern, read } of COMPILED)
    rest = rest.replace(pattern, (label: string, ...parts: unknown[]) => {
      const groups = parts.filter((part): part is string => typeof part === "string").map((part) => part.toLowerCase());
      const agrees = read(groups, Number.isNaN(nowMs) ? undefined : nowMs);
      if (agrees === undefined) return label;
      found.push({ label, agrees });
      return "\n";
    });
  return found;
}

function onDay(year: number, month: number, day: number): AskedDate["agrees"] | undefined {
  return isDay(month, day) ? startingWith(`${year}-${two(month)}-${two(day)}`) : undefined;
}

function anyYear(month: number, day?: number): AskedDate["agrees"] | undefined {
  if (day !== undefined && !isDay(month, day)) return undefined;
  const wanted = day === undefined ? `-${two(month)}-` : `-${two(month)}-${two(day)}`;
  return (date) => date.slice(4).startsWith(wanted);
}

function startingWith(start: string): AskedDate["agrees"] {
  return (date) => date.startsWith(start);
}

/** Returns a range of days ago, both ends included. */
function days(now: number | undefined, from: number, to: number): AskedDate["agrees"] | undefined {
  if (now === undefined) return undefined;
  const [first, last] = [isoDay(now - from * DAY_MS), isoDay(now - to * DAY_MS)];
  return (date) => date >= first && date <= last;
}

/** Returns a week from Monday to Sunday. */
function week(now: number | undefined, back: number): AskedDate["agrees"] | undefined {
  if (now === undefined) return undefined;
  const sinceMonday = (new Date(now).getUTCDay() + 6) % 7;
  return days(now, sinceMonday + 7 * back, sinceMonday + 7 * back - 6);
}

function month(now: number | undefined, back: number): AskedDate["agrees"] | undefined {
  if (now === undefined) return undefined;
  const today = new Date(now);
  return startingWith(isoDay(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, 1)).slice(0, 7));
}

function year(now: number | undefined, back: number): AskedDate["agrees"] | undefined {
  return now === undefined ? undefined : startingWith(`${new Date(now).getUTCFullYear() - back}-`);
}

function monthOf(name = ""): number {
  return MONTHS.findIndex((month) => month.startsWith(name.slice(0, 3))) + 1;
}

function isDay(month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
