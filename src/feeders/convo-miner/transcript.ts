/**
 * Builds upstream's transcript from messages: `> ` before the user's text, the answer below it, a blank line after each
 * pair. It takes one message after the other, and its state can be saved and resumed: all but the last pair is final.
 * Source: palace.md 5.4.
 */
export type Role = "user" | "assistant";
type Message = [role: Role, text: string];

/** Plain data, stored until the transcript has grown. */
export type TranscriptState = { settled: string; open: Message[]; count: number };

export class Transcript {
  /** Text of the pairs that cannot change any more. */
  #settled: string[];
  /** The last messages, at most a question and its answer. */
  #open: Message[];
  #count: number;

  constructor(state: TranscriptState = { settled: "", open: [], count: 0 }) {
    this.#settled = state.settled === "" ? [] : [state.settled];
    this.#open = state.open.map(([role, text]) => [role, text]);
    this.#count = state.count;
  }

  /** The number of messages so far. */
  get count(): number {
    return this.#count;
  }

  add(role: Role, text: string): void {
    const isAnswer = role === "assistant" && this.#open.length === 1 && this.#open[0]?.[0] === "user";
    if (!isAnswer && this.#open.length > 0) {
      this.#settled.push(pairText(this.#open));
      this.#open = [];
    }
    this.#open.push([role, text]);
    this.#count += 1;
  }

  /** Appends to the last message if the assistant said it; returns false if not. */
  extendAnswer(text: string): boolean {
    const last = this.#open.at(-1);
    if (last?.[0] !== "assistant") return false;
    last[1] += `\n${text}`;
    return true;
  }

  text(): string {
    return [...this.#settled, ...(this.#open.length === 0 ? [] : [pairText(this.#open)])].join("\n");
  }

  state(): TranscriptState {
    return { settled: this.#settled.join("\n"), open: this.#open, count: this.#count };
  }
}

function pairText(messages: readonly Message[]): string {
  return `${messages.map(([role, text]) => (role === "user" ? `> ${text}` : text)).join("\n")}\n`;
}
