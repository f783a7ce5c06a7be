/** Reads the number of messages, the last messages and the project from a transcript of Claude Code or Codex (palace.md 8.3). */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { slugOf } from "../../base/project-names.ts";

export type Talk = {
  /** Number of the user's messages. */
  count: number;
  /** Last messages of the user, oldest first. */
  texts: string[];
  cwd: string | undefined;
};

const TEXTS_KEPT = 30;
const TEXT_LENGTH = 200;
/** Number of characters above which a word may be a secret key. */
const WORD_LENGTH = 15;
const RECENT = 10;
const RECENT_LENGTH = 80;
/** Number of lines, from the first, in which to look for the working directory. */
const CWD_WITHIN = 200;
const THEMES = 3;
/** Words that say nothing about the topic. A theme is any other word of more than three letters. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "about after again also another because been before being both cannot could does doing done down each even every from " +
    "have here into just know like look make many maybe more most much must need none only other over really same shall should " +
    "since some still such sure than thank thanks that their them then there these they thing things think this those through " +
    "under until very want well were what when where which while will with without would your yours"
  ).split(" "),
);

/** Reads the user's texts from a transcript. Never throws: it skips bad lines, and an unreadable file counts as empty. */
export async function readTalk(file: string): Promise<Talk> {
  const talk: Talk = { count: 0, texts: [], cwd: undefined };
  let lines = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const record = parseJson(line);
      if (!isRecord(record)) continue;
      if (lines++ < CWD_WITHIN) talk.cwd ??= cwdOf(record);
      const text = userText(record);
      if (text === undefined || text.includes("<command-message>")) continue;
      hear(talk, text);
    }
  } catch {
    // The file does not exist or is unreadable.
  }
  return talk;
}

export function hear(talk: Talk, text: string): void {
  talk.count += 1;
  if (text.trim() === "" || text.includes("<system-reminder>")) return;
  talk.texts.push(cut(text.trim(), TEXT_LENGTH));
  if (talk.texts.length > TEXTS_KEPT) talk.texts.shift();
}

/** Makes a safe file name from a session's id, because an agent chose the id. */
export function sessionName(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, "") || "unknown";
}

/** Cuts a text, but not inside a long word: it may be a secret key, and our patterns do not recognise half of a key. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = text.slice(0, length);
  const [last = ""] = /\S*$/.exec(start) ?? [];
  const whole = last.length + (/^\S*/.exec(text.slice(length))?.[0].length ?? 0);
  return whole > WORD_LENGTH ? start.slice(0, start.length - last.length).trimEnd() : start;
}

export function checkpointOf(session: string, { texts }: Talk, date: string): string {
  const recent = texts.slice(-RECENT).map((text) => cut(text, RECENT_LENGTH));
  return `CHECKPOINT:${date}|session:${session}|msgs:${texts.length}|recent:${recent.join("|")}`;
}

export function themesOf({ texts }: Talk): string[] {
  const counts = new Map<string, number>();
  for (const [word] of texts
    .join(" ")
    .toLowerCase()
    .matchAll(/(?<![\p{L}\p{N}_])\p{L}{4,}(?![\p{L}\p{N}_])/gu))
    if (!STOP_WORDS.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, THEMES)
    .map(([word]) => word);
}

/** Returns the project, such as `my_app`: from the session's folder, or from the name of the transcript's folder. */
export function projectOf(cwd: string | undefined, transcript: string): string {
  const [, encoded] = /\/\.claude\/projects\/-([^/]+)/.exec(transcript) ?? [];
  const decoded = encoded
    ?.replace(/^(?:Users|home)-[^-]+-/, "")
    .replace(/^(?:git|dev|projects|Projects|src|code|work|Documents)-/, "");
  const [, named] = /-Projects-([^/]+)/.exec(transcript) ?? [];
  const names = [cwd?.split(/[/\\]/).filter(Boolean).at(-1), decoded, named];
  return names.map((name = "") => slugOf(name.replaceAll(/[\s-]+/g, "_"))).find(Boolean) ?? "sessions";
}

function cwdOf({ cwd, payload }: Record<string, unknown>): string | undefined {
  const found = cwd ?? (payload as { cwd?: unknown } | null | undefined)?.cwd;
  return typeof found === "string" && found !== "" ? found : undefined;
}

function userText({ type, message, payload }: Record<string, unknown>): string | undefined {
  if (type === "event_msg") {
    const said = payload as { type?: unknown; message?: unknown } | null | undefined;
    return said?.type === "user_message" ? textOf(said.message) : undefined;
  }
  const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
  return role === "user" ? textOf(content) : undefined;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => (block as { text?: unknown } | null)?.text ?? "")
    .filter(Boolean)
    .join(" ");
}
