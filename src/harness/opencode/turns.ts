/**
 * What the plugin follows of opencode's turns for memory that learns from outcomes: the user's text, the agent's, and what the memory
 * said beside a message, which stands in front of that message in every request. Nothing here changes what opencode shows.
 */
import type { Beside } from "../extension/hook.ts";

/** Parts of opencode 1.18's messages. */
export type Part = {
  id?: string;
  type: string;
  text?: string;
  synthetic?: boolean;
  sessionID?: string;
  messageID?: string;
};
export type Info = { id?: string; role?: string; sessionID?: string; error?: unknown };
export type Message = { info: Info; parts: Part[] };

/** `message`: the user's, whose parts are no answers. */
type Turn = { message: string; prompt: string; answers: Map<string, string>; isBroken: boolean };

/** Later ones push out what was said long ago. */
const MESSAGES_KEPT = 500;

export class Turns {
  readonly #turns = new Map<string, Turn>();
  /** By a user's message. */
  readonly #told = new Map<string, Beside>();

  begin(session: string, message: string, prompt: string): void {
    this.#turns.set(session, { message, prompt, answers: new Map(), isBroken: false });
  }

  tell(message: string, beside: Beside): void {
    this.#told.set(message, beside);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MESSAGES_KEPT) break;
      this.#told.delete(oldest);
    }
  }

  /** A part's text is all of it so far. */
  answer({ id = "", type, text = "", synthetic, sessionID = "", messageID = "" }: Part): void {
    const turn = this.#turns.get(sessionID);
    if (type === "text" && synthetic !== true && turn?.message !== messageID) turn?.answers.set(id, text);
  }

  /** An answer that was broken off, or failed, is none. */
  broke({ sessionID = "", role, error }: Info): void {
    const turn = this.#turns.get(sessionID);
    if (turn !== undefined && role === "assistant" && error !== undefined && error !== null) turn.isBroken = true;
  }

  /** Once a turn; undefined where one of them has said nothing. */
  end(session: string): { user: string; assistant: string } | undefined {
    const turn = this.#turns.get(session);
    if (turn === undefined || (turn.answers.size === 0 && !turn.isBroken)) return undefined;
    this.#turns.delete(session);
    const assistant = [...turn.answers.values()].filter((text) => text.trim() !== "").join("\n");
    return turn.isBroken || assistant === "" ? undefined : { user: turn.prompt, assistant };
  }

  drop(session: string): void {
    this.#turns.delete(session);
  }

  /**
   * The messages of a request, with what is known in front of each; those of opencode stay as they are, because it shows them. The
   * question for scores stands in front of the last one alone: it was answered, or not, when the next came.
   */
  shown(messages: readonly Message[]): Message[] {
    const last = messages.findLast(({ info }) => info.role === "user");
    return messages.map((message) => {
      const { scoring = "", context = "" } = this.#told.get(message.info.id ?? "") ?? {};
      const told = [message === last ? scoring : "", context].filter((text) => text !== "").join("\n");
      const at = message.parts.findIndex(isTyped);
      if (told === "" || at === -1) return message;
      const parts = message.parts.map((part, index) =>
        index === at ? { ...part, text: `${told}\n\n${part.text}` } : part,
      );
      return { ...message, parts };
    });
  }
}

function isTyped({ type, text, synthetic }: Part): boolean {
  return type === "text" && synthetic !== true && text !== undefined && text !== "";
}

/** What a user has typed, of a message's parts. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .filter(isTyped)
    .map(({ text = "" }) => text)
    .join("\n")
    .trim();
}
