/** Renders a drawer's text as a line of AAAK, exactly as upstream does (palace.md 8.2). Pure. */
import type { CompressedDrawer } from "../../protocol/compress.ts";
import type { Metadata } from "../../memory/port/drawer.ts";
import { codePointLength, head, pathStem, round, strip } from "../../memory/text/text.ts";

const NAMES_MAX = 3;
const TOPICS_MAX = 3;
const SIGNALS_MAX = 3;
const SENTENCE_MIN = 10;
const SENTENCE_MAX = 55;
const TOKENS_PER_WORD = 1.3;

const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** Texts to search for, in order, and their codes. A text also counts inside a word; `_` means a space. */
const FEELINGS = signals(`
  decided:determ prefer:convict worried:anx excited:excite frustrated:frust confused:confuse love:love hate:rage
  hope:hope fear:fear trust:trust happy:joy sad:grief surprised:surprise grateful:grat curious:curious
  wonder:wonder anxious:anx relieved:relief satisf:satis disappoint:grief concern:anx`);
const FLAGS = signals(`
  decided:DECISION chose:DECISION switched:DECISION migrated:DECISION replaced:DECISION instead_of:DECISION
  because:DECISION founded:ORIGIN created:ORIGIN started:ORIGIN born:ORIGIN launched:ORIGIN first_time:ORIGIN
  core:CORE fundamental:CORE essential:CORE principle:CORE belief:CORE always:CORE never_forget:CORE
  turning_point:PIVOT changed_everything:PIVOT realized:PIVOT breakthrough:PIVOT epiphany:PIVOT api:TECHNICAL
  database:TECHNICAL architecture:TECHNICAL deploy:TECHNICAL infrastructure:TECHNICAL algorithm:TECHNICAL
  framework:TECHNICAL server:TECHNICAL config:TECHNICAL`);
const COMMON = new Set(
  words(`
  the a an is are was were be been being have has had do does did will would could should may might shall can to
  of in for on with at by from as into about between through during before after above below up down out off over
  under again further then once here there when where why how all each every both few more most other some such no
  nor not only own same so than too very just don now and but or if while that this these those it its i we you he
  she they me him her us them my your his our their what which who whom also much many like because since get got
  use used using make made thing things way well really want need`),
);
/** Words that suggest a sentence about a decision. */
const TELLING = words(`
  decided because instead prefer switched chose realized important key critical discovered learned conclusion
  solution reason why breakthrough insight`);

export type NameCodes = readonly (readonly [name: string, code: string])[];

export type Summary = Omit<CompressedDrawer, "id" | "wing" | "room" | "sourceFile" | "summary"> & { text: string };

export function summarize(text: string, metadata: Metadata, codes: NameCodes): Summary {
  const summary = aaak(text, metadata, codes);
  const [originalTokens, tokens] = [tokenCount(text), tokenCount(summary)];
  const [originalChars, chars] = [codePointLength(text), codePointLength(summary)];
  return { text: summary, originalTokens, tokens, ratio: tenths(originalTokens / tokens), originalChars, chars };
}

function aaak(text: string, metadata: Metadata, codes: NameCodes): string {
  const lower = text.toLowerCase();
  const names = namesIn(text, lower, codes).slice(0, NAMES_MAX).join("+");
  const topics = topicsOf(text).join("_");
  const quote = keySentence(text);
  const parts = [`0:${names || "???"}`, topics || "misc", quote === "" ? "" : `"${quote}"`];
  const found = [FEELINGS, FLAGS].map((table) => signalsIn(lower, table).join("+"));
  const line = [...parts, ...found].filter((part) => part !== "").join("|");
  const [source = "", wing = ""] = [metadata["source_file"], metadata["wing"]].map((value) => String(value ?? ""));
  if (source === "" && wing === "") return line;
  const place = [wing, metadata["room"], metadata["date"], pathStem(source)].map((value) => String(value ?? "") || "?");
  return `${place.join("|")}\n${line}`;
}

/** Returns the codes of the text's names. Without a known name, takes capitalised words after the first word. */
function namesIn(text: string, lower: string, codes: NameCodes): string[] {
  const known = codes.filter(([name]) => !isLower(name) && lower.includes(name.toLowerCase())).map(([, code]) => code);
  if (known.length > 0) return [...new Set(known)];
  const found = new Set<string>();
  for (const word of strip(text).split(SPACES).slice(1)) {
    const letters = word.replace(/[^a-zA-Z]/g, "");
    if (/^[A-Z][a-z]+$/.test(letters) && !COMMON.has(letters.toLowerCase()))
      found.add(letters.slice(0, 3).toUpperCase());
    if (found.size === NAMES_MAX) break;
  }
  return [...found];
}

function isLower(name: string): boolean {
  return /\p{Ll}/u.test(name) && !/\p{Lu}|\p{Lt}/u.test(name);
}

function topicsOf(text: string): string[] {
  const counts = new Map<string, number>();
  const found = text.match(/[a-zA-Z][a-zA-Z_-]{2,}/g) ?? [];
  const add = (word: string, count: number): unknown => counts.set(word, (counts.get(word) ?? 0) + count);
  for (const word of found) if (!COMMON.has(word.toLowerCase())) add(word.toLowerCase(), 1);
  for (const word of found) {
    const lower = word.toLowerCase();
    if (COMMON.has(lower)) continue;
    if (/^[A-Z]/.test(word)) add(lower, 2);
    if (/[_-]|.[A-Z]/.test(word)) add(lower, 2);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, TOPICS_MAX)
    .map(([word]) => word);
}

/** Picks the sentence with the best score: decision words and shortness raise the score. */
function keySentence(text: string): string {
  const score = (sentence: string): number => {
    const [lower, length] = [sentence.toLowerCase(), codePointLength(sentence)];
    const telling = 2 * TELLING.filter((word) => lower.includes(word)).length;
    return telling + Number(length < 80) + Number(length < 40) - 2 * Number(length > 150);
  };
  const [best = ["", 0]] = text
    .split(/[.!?\n]+/)
    .map(strip)
    .filter((sentence) => codePointLength(sentence) > SENTENCE_MIN)
    .map((sentence): [string, number] => [sentence, score(sentence)])
    .sort(([, a], [, b]) => b - a);
  return codePointLength(best[0]) > SENTENCE_MAX ? `${head(best[0], SENTENCE_MAX - 3)}...` : best[0];
}

function signalsIn(lower: string, table: readonly (readonly [string, string])[]): string[] {
  const found = table.filter(([word]) => lower.includes(word)).map(([, code]) => code);
  return [...new Set(found)].slice(0, SIGNALS_MAX);
}

/** Rounds to tenths like Python: by the exact value, and a half to even. Only quarters (0.25, 0.75) are exact halves. */
function tenths(value: number): number {
  return Number.isInteger(value * 4) ? round(value, 1) : Number(value.toFixed(1));
}

function tokenCount(text: string): number {
  const count = strip(text) === "" ? 0 : strip(text).split(SPACES).length;
  return Math.max(1, Math.trunc(count * TOKENS_PER_WORD));
}

function words(list: string): string[] {
  return list.trim().split(/\s+/);
}

function signals(list: string): (readonly [word: string, code: string])[] {
  return words(list).map((entry) => {
    const [word = "", code = ""] = entry.split(":");
    return [word.replaceAll("_", " "), code];
  });
}
