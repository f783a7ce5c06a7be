/**
 * What Claude Code's hooks are answered, by event. Answers are the protocol's JSON or nothing. Pure but for what it is handed. Used by
 * `palace hook claude-code`. Source: hooks of Claude Code 2.1.330, seen in runs.
 */
import { isRecord } from "../../platform/is-record.ts";

export type HookInput = Readonly<{ event: string; session: string; source: string; prompt: string }>;

export type Doors = {
  wakeUp: () => Promise<string>;
  /** Empty where nothing fits or recall is switched off. */
  recall: (prompt: string) => Promise<string>;
  /** Begins to file the session and does not wait for it. */
  file: (session: string) => void;
};

/** A session whose context is new. One that is resumed or forked still has what its first start was told. */
const BEGINNINGS: ReadonlySet<string> = new Set(["startup", "clear", "compact"]);

/** Undefined: what came on stdin is no hook's document. */
export function readInput(text: string): HookInput | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return undefined;
    const word = (name: string): string => (typeof value[name] === "string" ? value[name] : "");
    return {
      event: word("hook_event_name"),
      session: word("session_id"),
      source: word("source"),
      prompt: word("prompt"),
    };
  } catch {
    return undefined;
  }
}

/** One JSON document, or an empty text. Errors: those of the doors. */
export async function answer({ event, session, source, prompt }: HookInput, doors: Doors): Promise<string> {
  switch (event) {
    case "SessionStart":
      return BEGINNINGS.has(source) ? context(event, await doors.wakeUp()) : "";
    case "UserPromptSubmit":
      return prompt.trim() === "" ? "" : context(event, await doors.recall(prompt));
    case "Stop":
    case "PreCompact":
    case "SessionEnd":
      if (isSessionId(session)) doors.file(session);
      return "";
    default:
      return "";
  }
}

function context(hookEventName: string, additionalContext: string): string {
  return additionalContext === "" ? "" : JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } });
}

/** It becomes an argument of a command of ours. */
function isSessionId(session: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(session);
}
