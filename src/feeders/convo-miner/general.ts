/** Finds decisions, problems, feelings and so on by words (`--extract general`). Source: general_extractor of 3.11; palace.md 5.5. */
import { codePointLength, slices, strip } from "../../memory/text/text.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";
import { lineGroups, paragraphsOf } from "./chunk.ts";
import { isResolved, MARKERS, type Marker, type MemoryType, sentimentOf } from "./memory-markers.ts";
import { END, SPACE, START } from "./python-pattern.ts";

export type Memory = { text: string; type: MemoryType };

const LENGTH_MIN = 20;
const CONFIDENCE_MIN = 0.3;
const SCORE_FULL = 5;
const TURNS_MIN = 3;
const LINES_MIN = 20;

export function extractMemories(transcript: string, size = DRAWER_SIZE): Memory[] {
  return segmentsOf(transcript).flatMap((segment) => {
    const text = strip(segment);
    const type = codePointLength(text) < LENGTH_MIN ? undefined : typeOf(segment);
    return type === undefined ? [] : slices(text, size).map((part) => ({ text: part, type }));
  });
}

/** Returns the type of a segment; undefined if the segment has too few markers. */
function typeOf(segment: string): MemoryType | undefined {
  const prose = proseOf(segment);
  const lower = prose.toLowerCase();
  const scores = new Map<MemoryType, number>();
  for (const [type, markers] of MARKERS) {
    const score = markers.reduce((sum, marker) => sum + occurrences(lower, marker), 0);
    if (score > 0) scores.set(type, score);
  }
  const [best] = [...scores].sort(([, a], [, b]) => b - a);
  if (best === undefined) return undefined;
  const length = codePointLength(segment);
  const bonus = length > 500 ? 2 : length > 200 ? 1 : 0;
  if (Math.min(1, (best[1] + bonus) / SCORE_FULL) < CONFIDENCE_MIN) return undefined;
  return corrected(best[0], prose, lower, scores);
}

/** Changes the type `problem` to milestone or emotional if the problem was solved or the sentiment is positive. */
function corrected(
  type: MemoryType,
  prose: string,
  lower: string,
  scores: ReadonlyMap<MemoryType, number>,
): MemoryType {
  if (type !== "problem") return type;
  const isGlad = sentimentOf(prose) === "positive";
  if (isResolved(lower)) return isGlad && scores.has("emotional") ? "emotional" : "milestone";
  if (!isGlad) return type;
  return scores.has("milestone") ? "milestone" : scores.has("emotional") ? "emotional" : type;
}

/** Counts matches of a marker. A marker of two patterns counts once per line, like upstream's single pattern with `.*`. */
function occurrences(text: string, marker: Marker): number {
  if (typeof marker === "function") return text.match(marker())?.length ?? 0;
  const [first, second] = [marker[0](), marker[1]()];
  return text.split("\n").filter((line) => {
    first.lastIndex = 0;
    if (!first.test(line)) return false;
    second.lastIndex = first.lastIndex;
    return second.test(line);
  }).length;
}

const CODE_LINES = [
  `[$#]${SPACE}`,
  `(?:cd|source|echo|export|pip|npm|git|python|bash|curl|wget|mkdir|rm|cp|mv|ls|cat|grep|find|chmod|sudo|brew|docker)${SPACE}`,
  "```",
  `(?:import|from|def|class|function|const|let|var|return)${SPACE}`,
  "[A-Z_]{2,}=",
  "\\|",
  "--",
  "[{}\\[\\]]$",
  `(?:(?:if|for|while|try|except|elif)${END}|else:${START})`,
  "[\\p{L}\\p{N}_]+\\.[\\p{L}\\p{N}_]+\\(",
  "[\\p{L}\\p{N}_]+ = [\\p{L}\\p{N}_]+\\.[\\p{L}\\p{N}_]",
];
const CODE_LINE = new RegExp(`^(?:${CODE_LINES.join("|")})`, "u");
const LETTERS_MIN = 0.4;
const CODE_LENGTH_MIN = 10;

/** Removes the lines of code. Returns the segment unchanged if all its lines are code. */
function proseOf(segment: string): string {
  let isFenced = false;
  const kept = segment.split("\n").filter((line) => {
    const isFence = strip(line).startsWith("```");
    if (isFence) isFenced = !isFenced;
    return !isFence && !isFenced && !isCode(strip(line));
  });
  return strip(kept.join("\n")) || segment;
}

function isCode(line: string): boolean {
  if (line === "") return false;
  if (CODE_LINE.test(line)) return true;
  const length = codePointLength(line);
  return length > CODE_LENGTH_MIN && (line.match(/\p{L}/gu)?.length ?? 0) / length < LETTERS_MIN;
}

const TURN = new RegExp(`^(?:>${SPACE}|(?:Human|User|Q|Assistant|AI|A|Claude|ChatGPT)${SPACE}*:)`, "iu");
const isTurn = (line: string): boolean => TURN.test(strip(line));

function segmentsOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.filter(isTurn).length >= TURNS_MIN) return byTurn(lines);
  const paragraphs = paragraphsOf(text);
  return paragraphs.length > 1 || lines.length <= LINES_MIN ? paragraphs : lineGroups(lines);
}

function byTurn(lines: readonly string[]): string[] {
  const segments: string[][] = [];
  for (const line of lines) {
    const current = segments.at(-1);
    if (current === undefined || isTurn(line)) segments.push([line]);
    else current.push(line);
  }
  return segments.map((segment) => segment.join("\n"));
}
