/** Finds dates in a question: "on 8 May 2023", "in March", "before March 2024", and "last week" if the current day is known. */

/** A date in a question. `agrees` tests a drawer's date, YYYY-MM-DD. `isSpan`: true for a date with a word such as "before" or "since". */
export type AskedDate = { label: string; agrees: (date: string) => boolean; isSpan: boolean };

const MONTHS = "january february march april may june july august september october november december".split(" ");
const MONTH = `(${MONTHS.join("|")}|${MONTHS.filter((name) => name !== "may")
  .map((name) => name.slice(0, 3))
  .join("|")}|sept)`;
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "((?:19|20)\\d\\d)";
const DAY_MS = 86_400_000;

/** Matches a year, but not the number in "after 2000 ms". */
const YEAR_ALONE = `${YEAR}(?= *$| *[^\\s\\w-]| (?:and|or|but|did|was|were|we|i)\\b)`;
/** Matches "before" and similar words in front of a date, but not in "the week before 3 August 2023", which names another date. */
const SIDE =
  "(?<!\\b(?:day|night|morning|evening|week|weekend|month|year|[a-z]+day)s? )(before|until|till|prior to|earlier than|after|since|later than)(?: the)?";
/** Matches "until" and "since", which include the date itself. */
const CLOSED = /^(?:until|till|since)/i;
/** Patterns of months and days with a year. `start` turns the match into the beginning of all agreeing dates, such as "2023-05". */
const DATED: readonly (readonly [pattern: string, start: (parts: readonly (string | undefined)[]) => string])[] = [
  [`${YEAR}-(\\d\\d)-(\\d\\d)`, ([year, month, day]) => dayOf(year, Number(month), day)],
  [`${DAY}(?: of)? ${MONTH},? ${YEAR}`, ([day, month, year]) => dayOf(year, monthOf(month), day)],
  [`${MONTH} ${DAY},? ${YEAR}`, ([month, day, year]) => dayOf(year, monthOf(month), day)],
  [`${MONTH},?(?: of)? ${YEAR}`, ([month, year]) => `${year ?? ""}-${two(monthOf(month))}`],
];
const SPANS = [
  ...DATED,
  [`${YEAR}-(0[1-9]|1[0-2])(?!-)`, ([year, month]) => `${year ?? ""}-${month ?? ""}`],
  [YEAR_ALONE, ([year]) => year ?? ""],
] as const satisfies typeof DATED;

type Read = (parts: readonly (string | undefined)[], now: number | undefined) => AskedDate["agrees"] | undefined;

type Pattern = readonly [pattern: string, read: Read, isSpan?: boolean];

/** Patterns, applied in this order. Later patterns do not read text that an earlier pattern has matched. */
const PATTERNS: readonly Pattern[] = [
  ...SPANS.map(
    ([pattern, start]) =>
      [`${SIDE} ${pattern}`, ([side, ...parts]) => onSide(side, start(parts)), true] as const satisfies Pattern,
  ),
  ...DATED.map(([pattern, start]) => [pattern, (parts) => startingWith(start(parts))] as const satisfies Pattern),
  [`${DAY}(?: of)? ${MONTH}`, ([day, month]) => anyYear(monthOf(month), Number(day))],
  [`${MONTH} ${DAY}(?! ?(?:am|pm|%|:))`, ([month, day]) => anyYear(monthOf(month), Number(day))],
  // Without a preposition, "may" and "march" are ordinary words.
  [`(?:in|during|since|throughout|back in) (?:early |late |mid-?)?${MONTH}`, ([month]) => anyYear(monthOf(month))],
  [`(?:in|during|throughout) ${YEAR}`, ([year]) => startingWith(`${year ?? ""}-`)],
  ["today", (_, now) => days(now, 0, 0)],
  ["yesterday", (_, now) => days(now, 1, 1)],
  ["(\\d{1,3}) days? ago", ([count], now) => days(now, Number(count), Number(count))],
  ["(last|this) week", ([which], now) => week(now, which === "last" ? 1 : 0)],
  ["(last|this) month", ([which], now) => month(now, which === "last" ? 1 : 0)],
  ["(last|this) year", ([which], now) => year(now, which === "last" ? 1 : 0)],
];

const COMPILED = PATTERNS.map(([pattern, read, isSpan = false]) => ({
  pattern: new RegExp(`\\b${pattern}\\b`, "gi"),
  read,
  isSpan,
}));

/** Returns the dates in a question. `now`: the asker's current day, YYYY-MM-DD…; if it is missing, "last week" does not count as a date. */
export function askedDates(query: string, now: string | undefined): AskedDate[] {
  const nowMs = now === undefined ? Number.NaN : Date.parse(`${now.slice(0, 10)}T00:00:00Z`);
  const found: AskedDate[] = [];
  let rest = query;
  for (const { pattern, read, isSpan } of COMPILED)
    rest = rest.replace(pattern, (label: string, ...parts: unknown[]) => {
      const groups = parts.filter((part): part is string => typeof part === "string").map((part) => part.toLowerCase());
      const agrees = read(groups, Number.isNaN(nowMs) ? undefined : nowMs);
      if (agrees === undefined) return label;
      found.push({ label, agrees, isSpan });
      return "\n";
    });
  return found;
}

/** Removes "before March 2024" and the like, whose words would find drawers of that very date. Keeps a text that has only dates. */
export function withoutSpans(text: string, dates: readonly AskedDate[]): string {
  const rest = dates.reduce(
    (left, { label, isSpan }) => (isSpan && !CLOSED.test(label) ? left.replace(label, " ") : left),
    text,
  );
  return /[\p{L}\p{N}]/u.test(rest) ? rest : text;
}

/** Returns the day as YYYY-MM-DD, or "" for a day that does not exist. */
function dayOf(year = "", month: number, day: string | undefined): string {
  return isDay(month, Number(day)) ? `${year}-${two(month)}-${two(Number(day))}` : "";
}

/** Returns a test for dates before or after all dates that begin with `start`. `side`: a word such as "until". */
function onSide(side: string | undefined, start: string): AskedDate["agrees"] | undefined {
  const isIn = startingWith(start);
  if (isIn === undefined) return undefined;
  const isEarlier = /^(?:before|until|till|prior|earlier)/.test(side ?? "");
  const isClosed = CLOSED.test(side ?? "");
  return (date) => date !== "" && (isIn(date) ? isClosed : date < start === isEarlier);
}

function anyYear(month: number, day?: number): AskedDate["agrees"] | undefined {
  if (day !== undefined && !isDay(month, day)) return undefined;
  const wanted = day === undefined ? `-${two(month)}-` : `-${two(month)}-${two(day)}`;
  return (date) => date.slice(4).startsWith(wanted);
}

function startingWith(start: string): AskedDate["agrees"] | undefined {
  return start === "" ? undefined : (date) => date.startsWith(start);
}

/** Returns a test for the days from `from` to `to` days before `now`, both included. */
function days(now: number | undefined, from: number, to: number): AskedDate["agrees"] | undefined {
  if (now === undefined) return undefined;
  const [first, last] = [isoDay(now - from * DAY_MS), isoDay(now - to * DAY_MS)];
  return (date) => date >= first && date <= last;
}

/** Returns a test for the week from Monday to Sunday that is `back` weeks before the week of `now`. */
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
