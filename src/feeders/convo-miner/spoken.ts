/** Recognises text that Claude Code inserted into a session, such as summaries, slash commands and reminders. Upstream files it. */
import { type Fields, fieldsOf } from "../fields.ts";

const UNSAID = ["isMeta", "isCompactSummary", "isApiErrorMessage"];
const COMMAND = /^<(command-name|command-message|command-args|local-command[\w-]*)>[^]*<\/\1>/;

/** Returns true for a line that Claude Code inserted. */
export function isUnsaid(line: Fields): boolean {
  if (UNSAID.some((mark) => line[mark] === true)) return true;
  if (line["type"] !== "user") return false;
  const content = fieldsOf(line["message"])["content"];
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  return blocks.some((block) => {
    const text = typeof block === "string" ? block : fieldsOf(block)["text"];
    return typeof text === "string" && COMMAND.test(text.trimStart());
  });
}

/** Returns a message's content without reminders; results of tools stay as they are. */
export function spokenContent(content: unknown): unknown {
  if (typeof content === "string") return withoutReminders(content);
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown): unknown => {
    if (typeof block === "string") return withoutReminders(block);
    const { type, text } = fieldsOf(block);
    return type === "text" && typeof text === "string" ? { type, text: withoutReminders(text) } : block;
  });
}

/** Removes reminders at the start of a line or the end of the text. A reminder that is quoted within a sentence stays. */
function withoutReminders(text: string): string {
  const length = text.trimEnd().length;
  let kept = "";
  let done = 0;
  let open = -1;
  for (const { 0: tag, index } of text.matchAll(/<\/?system-reminder>/g)) {
    if (!tag.startsWith("</")) {
      open = index;
      continue;
    }
    const end = index + tag.length;
    const isAtStart = open === 0 || text.charAt(open - 1) === "\n";
    if (open >= 0 && (isAtStart || end === length)) {
      kept += text.slice(done, open);
      done = end;
    }
    open = -1;
  }
  return kept + text.slice(done);
}
