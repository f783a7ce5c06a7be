/** Reads the last question, its answer and the tools' signals from a transcript of Claude Code 2.1.330 (outcome-memory.md 6.3). */
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import { type Exchange, signalsOf } from "../signal/signals.ts";
import { ToolUses } from "./tool-uses.ts";

/** Tags around the texts that the host adds to a user's message. */
const HOST_TAGS = [
  ...["system-reminder", "task-notification", "command-name", "command-message", "command-args"],
  ...["local-command-stdout", "local-command-stderr", "local-command-caveat", "roampal-score-required"],
  ...["bash-input", "bash-stdout", "bash-stderr", "teammate-message", "cross-session-message", "agent-message"],
];

/**
 * `transcript` is the end of the file, so its first line may be incomplete. `lastAnswer` comes from the host. `testCommands` are beginnings
 * of the user's own test commands. `isWhole` is true if every tool has a result.
 */
export function lastExchange(
  transcript: string,
  lastAnswer: string,
  testCommands: readonly string[],
): Exchange & { isWhole: boolean } {
  let user = "";
  let answers: string[] = [];
  let tools = new ToolUses();
  for (const line of transcript.split("\n")) {
    const { type, text, entry } = readLine(line);
    if (type === "user" && text !== "") [user, answers, tools] = [text, [], new ToolUses()];
    if (type === "assistant" && text !== "") answers.push(text);
    tools.read(entry);
  }
  // At the time of the hook the transcript often lacks the last answer.
  if (lastAnswer.trim() !== "" && answers.at(-1) !== lastAnswer.trim()) answers.push(lastAnswer.trim());
  const signals = signalsOf(tools.steps(), testCommands);
  return { user, assistant: answers.join("\n"), signals, isWhole: tools.areAnswered() };
}

/** Removes the host's additions from a message. The result is empty if the host wrote all of it, as when a subagent has ended. */
export function saidByUser(text: string): string {
  return HOST_TAGS.reduce(withoutBlocks, text).trim();
}

/** `type` is empty for all entries except messages of the user and of the main agent. */
function readLine(line: string): { type: string; text: string; entry: Record<string, unknown> } {
  const entry = parseRecord(line);
  const isHosts = ["isMeta", "isSidechain", "isCompactSummary"].some((mark) => entry[mark] === true);
  const { type, message } = entry;
  if (isHosts || (type !== "user" && type !== "assistant")) return { type: "", text: "", entry: {} };
  const text = textOf(isRecord(message) ? message["content"] : entry["content"]);
  return { type, text: saidByUser(text), entry };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const parts = (content as unknown[]).map((part) => {
    if (typeof part === "string") return part;
    return isRecord(part) && part["type"] === "text" && typeof part["text"] === "string" ? part["text"] : "";
  });
  return parts.filter((part) => part !== "").join("\n");
}

/** Removes the tag's blocks, also those with attributes. Keeps a block that has no closing tag. */
function withoutBlocks(text: string, tag: string): string {
  const [open, close] = [`<${tag}`, `</${tag}>`];
  let rest = "";
  for (let at = 0; ;) {
    const begin = text.indexOf(open, at);
    if (begin === -1) return rest + text.slice(at);
    // A longer tag name may begin with this name, so only a complete name starts a search for the end.
    const isTag = [">", " "].includes(text.charAt(begin + open.length));
    const end = isTag ? text.indexOf(close, begin) : begin + open.length;
    if (end === -1) return rest + text.slice(at);
    rest += text.slice(at, isTag ? begin : end);
    at = isTag ? end + close.length : end;
  }
}
