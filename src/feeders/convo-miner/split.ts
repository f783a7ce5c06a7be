/** Finds the beginning and file name of each Claude Code session in a text file, exactly as upstream does (palace.md 5.7). */
import { codePointLength, head, strip, wholeWord } from "../../memory/text/text.ts";

/** Minimum number of lines of a session; a shorter fragment gets no file. */
const LINES_MIN = 10;
const HEADER = "Claude Code v";
/** Texts near a header that show that an earlier session continues there. */
const RESTORED = ["Ctrl+E", "previous messages"];
const NEAR_LINES = 6;
const TIME_LINES = 50;
const PEOPLE_LINES = 100;
const PEOPLE_MAX = 3;
const SUBJECT_MAX = 60;
const STEM_MAX = 40;
/** Maximum bytes of a file name without its ending (`.txt`, or `_2.txt` if the name exists already). */
const NAME_BYTES_MAX = 240;

const SPACE = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
const WORD = String.raw`\p{L}\p{N}_`;
const SAID_AT = new RegExp(
  `⏺[${SPACE}]+(\\p{Nd}{1,2}:\\p{Nd}{2}[${SPACE}]+[AP]M)[${SPACE}]+[${WORD}]+,[${SPACE}]+([${WORD}]+)[${SPACE}]+(\\p{Nd}{1,2}),[${SPACE}]+(\\p{Nd}{4})`,
  "u",
);
const SHELL = /^(\.\/|cd |ls |python|bash|git |cat |source |export |claude|[^\n]\/activate)/u;
const HOME = new RegExp(`/Users/([${WORD}]+)/`, "u");
const MONTHS = "January February March April May June July August September October November December".split(" ");

/** Content of `known_names.json`: names to look for, and the owner of each account. */
export type KnownPeople = { names: readonly string[]; usernames: Readonly<Record<string, string>> };

/** `name` is the file name without its extension. */
export type Session = { at: number; name: string; lines: number; text: string };

export type SplitPlan = {
  sessions: number;
  /** Sessions that get a file. `at` is the session's number in the original, from 1 on. */
  parts: readonly Session[];
  /** Number of lines that go into no file: lines before the first session, and lines in fragments. */
  leftLines: number;
};

/** Splits where Python's universal newlines and splitlines do. Lines keep their ends. */
export function linesOf(text: string): string[] {
  return (
    text.replace(/\r\n?/g, "\n").match(/[^\n\v\f\x1c-\x1e\x85\u2028\u2029]*[\n\v\f\x1c-\x1e\x85\u2028\u2029]|[^]+$/g) ??
    []
  );
}

export function sessionStarts(lines: readonly string[]): number[] {
  return lines.flatMap((line, at) => {
    if (!line.includes(HEADER)) return [];
    const near = lines.slice(at, at + NEAR_LINES).join("");
    return RESTORED.some((words) => near.includes(words)) ? [] : [at];
  });
}

/** Plans the new files; there are none for fewer than two sessions. `stem`: the original's name without extension. */
export function planSplit(stem: string, lines: readonly string[], people: KnownPeople): SplitPlan {
  const starts = sessionStarts(lines);
  const parts = (starts.length < 2 ? [] : starts).flatMap((start, index) => {
    const chunk = lines.slice(start, starts[index + 1] ?? lines.length);
    if (chunk.length < LINES_MIN) return [];
    const at = index + 1;
    return { at, name: nameOf(stem, at, chunk, people), lines: chunk.length, text: chunk.join("") };
  });
  const kept = parts.reduce((sum, part) => sum + part.lines, 0);
  return { sessions: starts.length, parts, leftLines: lines.length - kept };
}

/** Returns `STEM__DATE_TIME_People_subject`, without an extension. */
function nameOf(stem: string, at: number, lines: readonly string[], people: KnownPeople): string {
  const source = head(stem.replace(new RegExp(`[^${WORD}-]`, "gu"), "_"), STEM_MAX);
  const when = timeOf(lines) ?? `part${String(at).padStart(2, "0")}`;
  const who = peopleIn(lines, people).slice(0, PEOPLE_MAX).join("-") || "unknown";
  let name = `${source}__${when}_${who}_${subjectOf(lines)}`
    .replace(new RegExp(`[^${WORD}.-]`, "gu"), "_")
    .replaceAll(/_+/g, "_");
  // Shortens a name that is too long for file systems; upstream fails then.
  while (Buffer.byteLength(name) > NAME_BYTES_MAX) name = head(name, codePointLength(name) - 1);
  return name;
}

function timeOf(lines: readonly string[]): string | undefined {
  for (const line of lines.slice(0, TIME_LINES)) {
    const [, time = "", month = "", day = "", year = ""] = SAID_AT.exec(line) ?? [];
    if (time === "") continue;
    const number = String(MONTHS.indexOf(month) + 1).padStart(2, "0");
    return `${year}-${number}-${day.padStart(2, "0")}_${time.replaceAll(":", "").replaceAll(" ", "")}`;
  }
  return undefined;
}

function peopleIn(lines: readonly string[], { names, usernames }: KnownPeople): string[] {
  const text = lines.slice(0, PEOPLE_LINES).join("");
  const found = new Set(names.filter((name) => name !== "" && wholeWord(name).test(text)));
  const [, user = ""] = HOME.exec(text) ?? [];
  if (Object.hasOwn(usernames, user)) found.add(usernames[user] ?? "");
  return [...found].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Returns words of the first prompt that is longer than five characters and not a shell command. */
function subjectOf(lines: readonly string[]): string {
  for (const line of lines) {
    if (!line.startsWith("> ")) continue;
    const prompt = strip(line.slice(2));
    if (codePointLength(prompt) <= 5 || SHELL.test(prompt)) continue;
    const words = strip(prompt.replace(new RegExp(`[^${WORD}${SPACE}-]`, "gu"), ""));
    return head(words.replace(new RegExp(`[${SPACE}]+`, "gu"), "-"), SUBJECT_MAX);
  }
  return "session";
}
