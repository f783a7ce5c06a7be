/**
 * The day a document speaks of, YYYY-MM-DD. Pure. Used by feed.ts and `why`.
 * Source: palace.md 5.2 "Content date": file stem, front matter, first ten lines, then the file's own date; in this order.
 */
export type DatedBy = "file name" | "front matter" | "text" | "modification time";

const LINES_MAX = 10;
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const MONTH_FIRST = new RegExp(`(?<![\\p{L}\\d])${MONTH}\\s+${DAY},?\\s+(\\d{4})(?!\\d)`, "iu");
const DAY_FIRST = new RegExp(`(?<![\\p{L}\\d])${DAY}\\s+(?:of\\s+)?${MONTH},?\\s+(\\d{4})(?!\\d)`, "iu");
const ISO = /(?<!\d)(\d{4})([-_/])(\d{2})\2(\d{2})(?!\d)/g;
const NUMERIC = /(?<![\d/.-])(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/]|-\d)/g;

/** `mtimeMs` is when the file was last changed, ms since the epoch. */
export function contentDate(stem: string, content: string, mtimeMs: number): { date: string; by: DatedBy } {
  const named = isoDate(stem) ?? wordDate(stem.replace(/[-_]+/g, " "));
  if (named !== undefined) return { date: named, by: "file name" };
  const { front, body } = splitFrontMatter(content.startsWith("\uFEFF") ? content.slice(1) : content);
  const stated = frontMatterDate(front);
  if (stated !== undefined) return { date: stated, by: "front matter" };
  const text = firstLines(body);
  const written = isoDate(text) ?? numericDate(text) ?? wordDate(text);
  if (written !== undefined) return { date: written, by: "text" };
  const changed = new Date(mtimeMs);
  const date = format(changed.getFullYear(), changed.getMonth() + 1, changed.getDate());
  return { date: date ?? "1970-01-01", by: "modification time" };
}

function isoDate(text: string): string | undefined {
  for (const [, year, , month, day] of text.matchAll(ISO)) {
    const date = format(Number(year), Number(month), Number(day));
    if (date !== undefined) return date;
  }
  return undefined;
}

/** Day first if any first number of the text exceeds 12, else month first. */
function numericDate(text: string): string | undefined {
  const found = [...text.matchAll(NUMERIC)].map(([, first, , second, year = ""]) => ({
    first: Number(first),
    second: Number(second),
    year: year.length === 4 ? Number(year) : Number(year) + (Number(year) >= 70 ? 1900 : 2000),
  }));
  const dayFirst = found.some(({ first }) => first > 12);
  for (const { first, second, year } of found) {
    const date = dayFirst ? format(year, second, first) : format(year, first, second);
    if (date !== undefined) return date;
  }
  return undefined;
}

function wordDate(text: string): string | undefined {
  const american = MONTH_FIRST.exec(text);
  const british = DAY_FIRST.exec(text);
  const americanDate = american && format(Number(american[3]), monthOf(american[1]), Number(american[2]));
  const britishDate = british && format(Number(british[3]), monthOf(british[2]), Number(british[1]));
  if (americanDate && britishDate) return american.index <= british.index ? americanDate : britishDate;
  return americanDate ?? britishDate ?? undefined;
}

function monthOf(name = ""): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function frontMatterDate(front: string): string | undefined {
  for (const key of ["date", "created", "published"]) {
    const value = new RegExp(`^${key}[ \\t]*:[ \\t]*(.+)$`, "im").exec(front)?.[1];
    const date = value === undefined ? undefined : (isoDate(value) ?? wordDate(value));
    if (date !== undefined) return date;
  }
  return undefined;
}

function splitFrontMatter(content: string): { front: string; body: string } {
  if (!/^---[ \t]*\n/.test(content)) return { front: "", body: content };
  const end = /\n---[ \t]*(?:\n|$)/.exec(content.slice(3));
  if (end === null) return { front: "", body: content };
  return { front: content.slice(3, 3 + end.index), body: content.slice(3 + end.index + end[0].length) };
}

/** Bounded: a megabyte without a line feed is not scanned for dates. */
function firstLines(text: string): string {
  return text.slice(0, 8192).split("\n", LINES_MAX).join("\n");
}

function format(year: number, month: number, day: number): string | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = year >= 1000 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal ? date.toISOString().slice(0, 10) : undefined;
}
