/** Reads the JSON document that Claude Code 2.1.330 sends to a hook, and formats the answer. Codex sends the same fields. */
import { isRecord, parseAs } from "../../base/parse-json.ts";
import { saidByUser } from "./exchange.ts";

export type HookInput = Readonly<{
  event: string;
  session: string;
  source: string;
  /** The user's text; empty if the host itself wrote the prompt. */
  prompt: string;
  cwd: string;
  transcript: string;
  lastAnswer: string;
  isSubagent: boolean;
  /** True if a stop hook has already made the agent continue in this turn. */
  isGoneOn: boolean;
}>;

/** Returns undefined if `text` is not a JSON object. */
export function readInput(text: string): HookInput | undefined {
  const value = parseAs(text, isRecord);
  if (value === undefined) return undefined;
  const word = (name: string): string => (typeof value[name] === "string" ? value[name] : "");
  return {
    event: word("hook_event_name"),
    session: word("session_id"),
    source: word("source"),
    prompt: saidByUser(word("prompt")),
    cwd: word("cwd"),
    transcript: word("transcript_path"),
    lastAnswer: word("last_assistant_message"),
    isSubagent: word("agent_id") !== "",
    isGoneOn: ["true", "1", "yes"].includes(String(value["stop_hook_active"]).toLowerCase()),
  };
}

/** Returns true for a session that starts with an empty context, unlike a resumed or forked session. */
export function isBeginning({ source }: HookInput): boolean {
  return ["startup", "clear", "compact"].includes(source);
}

/** Returns the document that adds a text to the agent's context; empty for an empty text. */
export function context(hookEventName: string, additionalContext: string): string {
  return additionalContext === "" ? "" : JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } });
}

/** Returns true if the id is safe as an argument of our own command. */
export function isSessionId(session: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(session);
}
