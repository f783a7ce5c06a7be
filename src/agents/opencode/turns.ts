/**
 * Tracks opencode's turns: the user's text, the answer, and the texts that each request gets before a message. The plugin does not change
 * the messages that opencode shows.
 */
import type { HostSignal } from "../../protocol/outcome.ts";
import type { Beside, Lost } from "../extension/hook.ts";
import { type Exchange, signalsOf, type Step, stepOf } from "../signal/signals.ts";

/** Part of a message of opencode 1.18. */
export type Part = {
  id?: string;
  type: string;
  text?: string;
  synthetic?: boolean;
  sessionID?: string;
  messageID?: string;
  tool?: string;
  state?: { status?: string; input?: unknown; output?: unknown; metadata?: { exit?: unknown } };
};
export type Info = { id?: string; role?: string; sessionID?: string; error?: unknown };
export type Message = { info: Info; parts: Part[] };

/** `message`: id of the user's message. `answers`: texts of the answer, by part id. `steps`: tool uses that have ended, by part id. */
type Turn = {
  message: string;
  prompt: string;
  answers: Map<string, string>;
  steps: Map<string, Step>;
  isBroken: boolean;
};

/** Maximum number of user messages whose texts are kept; beyond it, the oldest are dropped. */
const MESSAGES_KEPT = 500;

export class Turns {
  readonly #testCommands: readonly string[];
  readonly #turns = new Map<string, Turn>();
  /** Texts by the id of the user's message. */
  readonly #told = new Map<string, Beside & { session: string }>();
  /** Sessions whose agent still sees the memories that it was shown. */
  readonly #seeing = new Set<string>();
  /** Sessions that were compacted and whose agent has not been shown a text since. */
  readonly #compacted = new Set<string>();
  /** Sessions whose user has reverted messages since the last turn ended. */
  readonly #reverted = new Set<string>();

  constructor(testCommands: readonly string[]) {
    this.#testCommands = testCommands;
  }

  begin(session: string, message: string, prompt: string): void {
    this.#turns.set(session, { message, prompt, answers: new Map(), steps: new Map(), isBroken: false });
  }

  /** Returns true if the agent does not see earlier texts: opencode does not store them, so they vanish at a start or a compaction. */
  #isFresh(session: string): boolean {
    return !this.#seeing.has(session);
  }

  lost(session: string): Lost {
    if (this.#compacted.has(session)) return "said";
    return this.#isFresh(session) ? "shown" : "nothing";
  }

  compacted(session: string): void {
    this.#seeing.delete(session);
    this.#compacted.add(session);
  }

  /** Stores the texts to show before a message. Drops earlier texts that the agent no longer sees, because they would repeat memories. */
  tell(session: string, message: string, beside: Beside): void {
    // Empty texts, for example because the broker answered too late, show the agent nothing.
    if (beside.scoring === "" && beside.context === "") return;
    if (this.#isFresh(session))
      for (const [one, told] of this.#told) if (told.session === session) this.#told.delete(one);
    this.#seeing.add(session);
    this.#compacted.delete(session);
    this.#told.set(message, { ...beside, session });
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MESSAGES_KEPT) break;
      this.#told.delete(oldest);
    }
  }

  /** Records a part of the answer. opencode sends a growing part several times, each time with its whole text. */
  answer(part: Part): void {
    const { id = "", type, text = "", synthetic, sessionID = "", messageID = "" } = part;
    const turn = this.#turns.get(sessionID);
    const step = type === "tool" ? stepIn(part) : undefined;
    if (step !== undefined) turn?.steps.set(id, step);
    if (type === "text" && synthetic !== true && turn?.message !== messageID) turn?.answers.set(id, text);
  }

  /** Records that the user reverted messages; opencode removes them when the user continues. */
  removed(session: string): void {
    this.#reverted.add(session);
  }

  /** Marks a turn whose answer was interrupted or failed; `end` then returns no exchange. */
  broke({ sessionID = "", role, error }: Info): void {
    const turn = this.#turns.get(sessionID);
    if (turn !== undefined && role === "assistant" && error !== undefined && error !== null) turn.isBroken = true;
  }

  /** Returns the exchange of an ended turn; undefined at a second call, or if the answer is missing or incomplete. */
  end(session: string): Exchange | undefined {
    const turn = this.#turns.get(session);
    if (turn === undefined || (turn.answers.size === 0 && !turn.isBroken)) return undefined;
    this.#turns.delete(session);
    const assistant = [...turn.answers.values()].filter((text) => text.trim() !== "").join("\n");
    const reverted: HostSignal[] = this.#reverted.delete(session) ? ["reverted"] : [];
    if (turn.isBroken || assistant === "") return undefined;
    return {
      user: turn.prompt,
      assistant,
      signals: [...new Set([...signalsOf([...turn.steps.values()], this.#testCommands), ...reverted])],
    };
  }

  drop(session: string): void {
    this.#turns.delete(session);
    this.#reverted.delete(session);
    this.#seeing.delete(session);
    this.#compacted.delete(session);
  }

  /** Returns the text to show before a message; only before the last message it has the question for scores. */
  before(message: string, isLast: boolean): string {
    const { scoring = "", context = "" } = this.#told.get(message) ?? {};
    return [isLast ? scoring : "", context].filter((text) => text !== "").join("\n");
  }

  /** Returns the id of the user's message that the turn answers; undefined between turns. */
  messageOf(session: string): string | undefined {
    return this.#turns.get(session)?.message;
  }

  /** Copies the messages, because opencode shows the originals. Only the last user message gets the question for scores. */
  shown(messages: readonly Message[]): Message[] {
    const last = messages.findLast(({ info }) => info.role === "user");
    return messages.map((message) => {
      const told = this.before(message.info.id ?? "", message === last);
      const at = message.parts.findIndex(isTyped);
      if (told === "" || at === -1) return message;
      const parts = message.parts.map((part, index) =>
        index === at ? { ...part, text: `${told}\n\n${part.text}` } : part,
      );
      return { ...message, parts };
    });
  }
}

/** Returns a tool's step; undefined for a tool that still runs, was interrupted, or gives no signal. */
function stepIn({ tool, state }: Part): Step | undefined {
  if (state?.status !== "completed") return undefined;
  const exit = state.metadata?.exit;
  const output = typeof state.output === "string" ? state.output : "";
  return stepOf(tool, state.input, typeof exit === "number" ? { exit, output } : undefined);
}

function isTyped({ type, text, synthetic }: Part): boolean {
  return type === "text" && synthetic !== true && text !== undefined && text !== "";
}

/** Returns the user's typed text from a message's parts. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .filter(isTyped)
    .map(({ text = "" }) => text)
    .join("\n")
    .trim();
}
