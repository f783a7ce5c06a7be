/** Removes text that Claude Code and its hooks insert into messages. Source: palace.md 5.4 "Noise removal". */
import { strip } from "../../memory/text/text.ts";
import { SPACE } from "./python-pattern.ts";

const TAGS = [
  "system-reminder",
  "command-message",
  "command-name",
  "task-notification",
  "user-prompt-submit-hook",
  "hook_output",
];

const LINES = [
  "CURRENT TIME:",
  "VERIFIED FACTS (do not contradict)",
  "AGENT SPECIALIZATION:",
  "Checking verified facts...",
  "Injecting timestamp...",
  "Starting background pipeline...",
  "Checking emotional weights...",
  "Auto-save reminder...",
  "Checking pipeline...",
  "MemPalace auto-save checkpoint.",
];

/** Equivalent of Python's `^(?:> )?` in multi-line mode, where only a line feed ends a line. */
const LINE_START = String.raw`(?<![^\n])(?:> )?`;
const LINE_PATTERNS = LINES.map((start) => ({
  start,
  pattern: new RegExp(`${LINE_START}${start.replace(/[.()]/g, "\\$&")}[^\\n]*\\n?`, "gu"),
}));
const HOOK_LINE = new RegExp(
  `${LINE_START}Ran \\p{Nd}+ (?:Stop|PreCompact|PreToolUse|PostToolUse|UserPromptSubmit|Notification|SessionStart|SessionEnd) hooks?[^\\n]*\\n?`,
  "gu",
);
const COLLAPSED_LINES = new RegExp(`${LINE_START}…${SPACE}*\\+\\p{Nd}+ lines[^\\n]*\\n?`, "gu");
const COLLAPSED_TOKENS = new RegExp(`\\[\\p{Nd}+${SPACE}+tokens?\\]${SPACE}*\\(ctrl\\+o to expand\\)`, "gu");
const SPACE_CHARACTER = new RegExp(SPACE, "u");

export function stripNoise(message: string): string {
  let text = message;
  for (const tag of TAGS) text = withoutTag(text, tag);
  for (const { start, pattern } of LINE_PATTERNS) if (text.includes(start)) text = text.replace(pattern, "");
  if (text.includes(" hook")) text = text.replace(HOOK_LINE, "");
  if (text.includes("…")) text = text.replace(COLLAPSED_LINES, "");
  if (text.includes("(ctrl+o to expand)")) text = withoutTokens(text);
  return strip(text.replace(/\n{4,}/g, "\n\n\n"));
}

/** Removes the text from an opening tag at the start of a line to its closing tag, but never across a blank line. */
function withoutTag(text: string, tag: string): string {
  // Upstream's regular expressions for tags take quadratic time on a malicious transcript, so this function finds tags with indexOf.
  const open = `<${tag}`;
  const close = `</${tag}>`;
  if (!text.includes(open) || !text.includes(close)) return text;
  const nextClose = finder(text, close);
  const nextAngle = finder(text, ">");
  const nextBlank = blankLineFinder(text);
  let kept = "";
  let done = 0;
  for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, at + 1)) {
    const start = lineStart(text, at);
    if (start < done) continue;
    const behind = text.charAt(at + open.length);
    if (behind !== ">" && !SPACE_CHARACTER.test(behind)) continue;
    const body = behind === ">" ? at + open.length + 1 : nextAngle(at + open.length) + 1;
    if (body === 0) break;
    const end = nextClose(body);
    if (end < 0) break;
    const blank = nextBlank(body);
    if (blank >= 0 && blank < end) continue;
    kept += text.slice(done, start);
    done = end + close.length;
    while (text.charAt(done) === " " || text.charAt(done) === "\t") done += 1;
    if (text.charAt(done) === "\n") done += 1;
    at = done - 1;
  }
  return kept + text.slice(done);
}

/** Returns the start of the line if the tag at `at` is the first text in it, after an optional `> `; otherwise -1. */
function lineStart(text: string, at: number): number {
  const isStart = (index: number): boolean => index === 0 || text.charAt(index - 1) === "\n";
  if (isStart(at)) return at;
  return at >= 2 && text.startsWith("> ", at - 2) && isStart(at - 2) ? at - 2 : -1;
}

/** Returns a function like indexOf that searches each part of the text only once. `from` must never decrease. */
function finder(text: string, wanted: string): (from: number) => number {
  let found = -2;
  return (from) => {
    if (found !== -1 && found < from) found = text.indexOf(wanted, from);
    return found;
  };
}

/** Returns a function that finds the line feed before the next blank line. `from` must never decrease. */
function blankLineFinder(text: string): (from: number) => number {
  let found = -2;
  return (from) => {
    if (found === -1 || found >= from) return found;
    for (let feed = text.indexOf("\n", from); feed >= 0;) {
      let end = feed + 1;
      while (end < text.length && text.charAt(end) !== "\n" && SPACE_CHARACTER.test(text.charAt(end))) end += 1;
      if (text.charAt(end) === "\n") return (found = feed);
      feed = text.indexOf("\n", end);
    }
    return (found = -1);
  };
}

/** Removes markers such as `[12 tokens] (ctrl+o to expand)` and the white space before them. */
function withoutTokens(text: string): string {
  let kept = "";
  let done = 0;
  for (const match of text.matchAll(COLLAPSED_TOKENS)) {
    let end = match.index;
    while (end > done && SPACE_CHARACTER.test(text.charAt(end - 1))) end -= 1;
    kept += text.slice(done, end);
    done = match.index + match[0].length;
  }
  return kept + text.slice(done);
}
