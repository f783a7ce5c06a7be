/**
 * Answers Claude Code's hooks, by event. An answer is the protocol's JSON or nothing. Pure except for its parameters. Used
 * by `palace hook claude-code`. Source: hooks of Claude Code 2.1.330, seen in runs.
 */
import { isRecord } from "../../base/is-record.ts";
import { saidByUser } from "./exchange.ts";

export type HookInput = Readonly<{
  event: string;
  session: string;
  source: string;
  /** The user's words; empty if the host speaks. */
  prompt: string;
  cwd: string;
  transcript: string;
  lastAnswer: string;
  /** True for events of a subagent; `isGoneOn`: true at the end of a turn that another hook made the agent continue. */
  isSubagent: boolean;
  isGoneOn: boolean;
}>;

export type Doors = {
  wakeUp: () => Promise<string>;
  /** Returns matching memories; empty if nothing matches or recall is off. */
  recall: (prompt: string) => Promise<string>;
  /** Returns the texts of memory with outcomes for a prompt; empty when it is off. */
  turn: (prompt: string) => Promise<string>;
  /** Stores the exchange that has ended. */
  turnEnded: () => Promise<void>;
  /** Starts filing the session and does not wait for it. */
  file: (session: string) => void;
};

/**
 * The starts of a session with a new context. A resumed or forked session still has what it was told at its first start.
 */
const BEGINNINGS: ReadonlySet<string> = new Set(["startup", "clear", "compact"]);

/** Undefined when stdin holds no hook's document. */
export function readInput(text: string): HookInput | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return undefined;
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
      isGoneOn: value["stop_hook_active"] === true,
    };
  } catch {
    return undefined;
  }
}

/** Returns one JSON document, or an empty text. Errors: those of the doors. */
export async function answer(input: HookInput, doors: Doors): Promise<string> {
  const { event, session, source, prompt, isSubagent, isGoneOn } = input;
  switch (event) {
    case "SessionStart":
      return BEGINNINGS.has(source) ? context(event, await doors.wakeUp()) : "";
    case "UserPromptSubmit":
      if (prompt === "" || isSubagent) return "";
      return context(event, (await Promise.all([doors.turn(prompt), doors.recall(prompt)])).filter(Boolean).join("\n"));
    case "Stop":
      if (isSessionId(session)) doors.file(session);
      if (!isSubagent && !isGoneOn) await doors.turnEnded();
      return "";
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

/** Checks the id, because it becomes an argument of a command of ours. */
function isSessionId(session: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(session);
}
