/** Numbers, times and texts as people read them. Pure. */

const UNITS = ["B", "kB", "MB", "GB", "TB"];
/** Matches characters that change the direction of the text around them. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const WORD = /[\p{L}\p{N}]+/gu;
const STEM_MIN = 3;
/** Matches blank lines, and lines without a letter or number. */
const BLANK_LINES = /\n(?:[^\p{L}\p{N}\n]*\n)+/gu;
const TITLE_WITHIN = 2_000;

export function count(number: number): string {
  return number.toLocaleString("en");
}

export function plural(number: number, word: string, many = `${word}s`): string {
  return `${count(number)} ${number === 1 ? word : many}`;
}

export function bytes(size: number): string {
  const power = size < 1000 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), UNITS.length - 1);
  return `${(size / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power] ?? ""}`;
}

export function time(at: number | string | undefined): string {
  const date = new Date(at ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const isToday = date.toDateString() === new Date().toDateString();
  const clock = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return isToday ? `today ${clock}` : `${date.toLocaleDateString("en-GB", { dateStyle: "medium" })} ${clock}`;
}

const SPANS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** Returns the time since `atMs` in the largest unit that fits, at least in minutes. */
export function age(atMs: number): string {
  const passedMs = Date.now() - atMs;
  const [unit, lengthMs] = SPANS.find(([, span]) => passedMs >= span) ?? ["minute", 60_000];
  return `${plural(Math.max(Math.floor(passedMs / lengthMs), 0), unit)} ago`;
}

export function startOfToday(): number {
  return new Date().setHours(0, 0, 0, 0);
}

/** Makes characters visible that would change the direction of the text around them. */
export function plain(text: string): string {
  return text.replaceAll(TURNING, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Returns a text's first heading or sentence. Skips lines of one or two words: a slice of a document may begin inside a word. */
export function title(text: string): string {
  const lines = text.slice(0, TITLE_WITHIN).split("\n");
  const saying = lines.filter((one) => /[\p{L}\p{N}]/u.test(one));
  const line = saying.find((one) => /^#+ /.test(one) || one.trim().split(" ").length > 2) ?? saying[0] ?? text;
  return plain(line.replace(/^[#>*\-\s]+/, "").slice(0, 160)) || "(empty)";
}

export type Piece = { text: string; isMatch: boolean };

/** Cuts a text into matches and the text between them. A match is a word with the same beginning as a word of the question. */
export function marked(text: string, question: string): Piece[] {
  const stems = [...question.toLowerCase().matchAll(WORD)]
    .map(([word]) => (word.length > STEM_MIN + 2 ? word.slice(0, -2) : word))
    .filter((stem) => stem.length >= STEM_MIN);
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!stems.some((stem) => word.toLowerCase().startsWith(stem))) continue;
    if (index > from) pieces.push({ text: text.slice(from, index), isMatch: false });
    pieces.push({ text: word, isMatch: true });
    from = index + word.length;
  }
  return from < text.length ? [...pieces, { text: text.slice(from), isMatch: false }] : pieces;
}

/** Returns the part of a text with the most matches, at most `size` characters. */
export function passage(text: string, question: string, size = 360): string {
  if (text.length <= size) return text.trim().replaceAll(BLANK_LINES, "\n");
  let [best, most] = [0, -1];
  for (let from = 0; from < Math.min(text.length, 100_000); from += size / 2) {
    const matches = marked(text.slice(from, from + size), question).filter(({ isMatch }) => isMatch).length;
    if (matches > most) [best, most] = [from, matches];
  }
  const cut = text.slice(best, best + size);
  const lines = cut.trim().replaceAll(BLANK_LINES, "\n");
  return `${best > 0 ? "… " : ""}${lines}${best + size < text.length ? " …" : ""}`;
}
