/** Finds a document's date: in its file name, front matter or first ten lines, else the date of its last change. Source: palace.md 5.2. */
import { strip } from "../../memory/text/text.ts";

export type DatedBy = "file name" | "front matter" | "text" | "modification time";

/** Value of the field `content_date_source` for each place in which a date was found, as in upstream. */
export const DATED_BY: Readonly<Record<DatedBy, string>> = {
  "file name": "filename",
  "front matter": "frontmatter",
  text: "body",
  "modification time": "mtime",
};

const LINES_MAX = 10;
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
/** Equivalents of Python's `\b` before and after a word, because JavaScript's `\b` knows only ASCII letters. */
const START = String.raw`(?<![\p{L}\p{N}_])`;
const END = String.raw`(?![\p{L}\p{N}_])`;
const MONTH =
  "(january|february|march|april|may|june|july|august|september|october|november|december" +
  "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)";
const ISO = new RegExp(String.raw`${START}(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${END}`, "u");
/** Matches a date and a time, such as 2026-12-31T10:00. `ISO` does not match this date, because a letter follows the day. */
const ISO_TIME = /^(\d{4})-(\d{1,2})-(\d{1,2})[Tt\s]\d/;
const NUMERIC = new RegExp(String.raw`${START}(\d{1,2})[/-](\d{1,2})[/-](\d{2,4})${END}`, "gu");
/** Matches a full date. Unlike upstream, "of" may be between day and month. */
const COMPLETE = new RegExp(
  [
    String.raw`${START}(?<year>\d{4})[-/.\s]+(?<second>\d{1,2})[-/.\s]+(?<third>\d{1,2})${END}`,
    String.raw`${START}${MONTH.replace("(", "(?<monthA>")}\.?[-\s]+(?<dayA>\d{1,2})(?:st|nd|rd|th)?[,\s-]+(?<yearA>\d{4})${END}`,
    String.raw`${START}(?<dayB>\d{1,2})(?:st|nd|rd|th)?[-\s]+(?:of\s+)?${MONTH.replace("(", "(?<monthB>")}\.?[,\s-]+(?<yearB>\d{4})${END}`,
  ].join("|"),
  "iu",
);

/** `stem`: the file's name without extension. `mtimeMs`: time of the file's last change, ms since the epoch. */
export function contentDate(stem: string, content: string, mtimeMs: number): { date: string; by: DatedBy } {
  const named = isoDate(stem) ?? completeDate(stem.replace(/[-_]/g, " "));
  if (named !== undefined) return { date: named, by: "file name" };
  const { front, body } = splitFrontMatter(strip(content.startsWith("\uFEFF") ? content.slice(1) : content));
  const stated = frontMatterDate(front);
  if (stated !== undefined) return { date: stated, by: "front matter" };
  const text = body.slice(0, 8192).split("\n", LINES_MAX).join("\n");
  const written = isoDate(text) ?? numericDate(text) ?? completeDate(text);
  if (written !== undefined) return { date: written, by: "text" };
  const changed = new Date(mtimeMs);
  const date = format(changed.getFullYear(), changed.getMonth() + 1, changed.getDate());
  return { date: date ?? "1970-01-01", by: "modification time" };
}

/** Returns the first date such as 2026-12-31 or 2026.12.31; undefined if it is not in the calendar, even if a later one is. */
function isoDate(text: string): string | undefined {
  const [, year, month, day] = ISO.exec(text) ?? [];
  return year === undefined ? undefined : format(Number(year), Number(month), Number(day));
}

/** Returns the first date such as 31/12/2026. The day comes first if any date in the text begins with a number above 12, else the month. */
function numericDate(text: string): string | undefined {
  const found = [...text.matchAll(NUMERIC)].map((match) => match.slice(1, 4).map(Number));
  const [first, second, short] = found[0] ?? [];
  if (first === undefined || second === undefined || short === undefined) return undefined;
  const year = short >= 100 ? short : short + (short >= 70 ? 1900 : 2000);
  const isDayFirst = found.some(([one = 0]) => one > 12);
  return isDayFirst ? format(year, second, first) : format(year, first, second);
}

function completeDate(text: string): string | undefined {
  const { year, second, third, monthA, dayA, yearA, monthB, dayB, yearB } = COMPLETE.exec(text)?.groups ?? {};
  if (year !== undefined) {
    const [month, day] = Number(second) > 12 ? [third, second] : [second, third];
    return format(Number(year), Number(month), Number(day));
  }
  if (monthA !== undefined) return format(Number(yearA), monthOf(monthA), Number(dayA));
  return monthB === undefined ? undefined : format(Number(yearB), monthOf(monthB), Number(dayB));
}

function monthOf(name: string): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function frontMatterDate(front: string): string | undefined {
  for (const key of ["date", "created", "published"]) {
    const value = new RegExp(`^${key}[ \\t]*:[ \\t]*["']?(.+)$`, "im").exec(front)?.[1];
    if (value === undefined) continue;
    const [, year, month, day] = ISO_TIME.exec(value) ?? [];
    const timed = year === undefined ? undefined : format(Number(year), Number(month), Number(day));
    const date = timed ?? isoDate(value) ?? numericDate(value) ?? completeDate(value);
    if (date !== undefined) return date;
  }
  return undefined;
}

function splitFrontMatter(content: string): { front: string; body: string } {
  const end = content.startsWith("---") ? content.indexOf("\n---", 3) : -1;
  if (end < 0) return { front: "", body: content };
  const feed = content.indexOf("\n", end + 1);
  return { front: content.slice(3, end), body: feed < 0 ? content : content.slice(feed + 1) };
}

function format(year: number, month: number, day: number): string | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = year >= 1000 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal ? date.toISOString().slice(0, 10) : undefined;
}
