/** Builds upstream's transcript: `> ` before the user's text, the answer below, a blank line after each pair. Source: palace.md 5.4. */
import { newer, type Time } from "./times.ts";

export type Role = "user" | "assistant";
type Message = [role: Role, text: string];

/** Text of a conversation, and the time of each pair of question and answer in it. */
export type Conversation = { text: string; times: Time[] };

/** State of a transcript, as plain data for a checkpoint. `at`: time of the last question and answer, or null. */
export type TranscriptState = {
  settled: string;
  open: Message[];
  count: number;
  times: Time[];
  at: string | null;
};

export class Transcript {
  /** Questions with their answers that cannot change any more, as text. */
  #settled: string[];
  /** The last question and its answer, to which text may be added. */
  #open: Message[];
  #count: number;
  readonly #times: Time[];
  /** Time of `#open`. */
  #at: string | undefined;
  /** Position of `#open` in the text. */
  #start: number;

  constructor(state: TranscriptState = { settled: "", open: [], count: 0, times: [], at: null }) {
    this.#settled = state.settled === "" ? [] : [state.settled];
    this.#start = state.settled === "" ? 0 : state.settled.length + 1;
    this.#times = state.times.map(([start, at]) => [start, at]);
    this.#at = state.at ?? undefined;
    this.#open = state.open.map(([role, text]) => [role, text]);
    this.#count = state.count;
  }

  get count(): number {
    return this.#count;
  }

  add(role: Role, text: string, at?: string): void {
    const isAnswer = role === "assistant" && this.#open.length === 1 && this.#open[0]?.[0] === "user";
    if (!isAnswer && this.#open.length > 0) {
      const pair = pairText(this.#open);
      this.#settled.push(pair);
      this.#times.push(...this.#openTime());
      this.#start += pair.length + 1;
      [this.#open, this.#at] = [[], undefined];
    }
    this.#open.push([role, text]);
    this.#at = newer(this.#at, at);
    this.#count += 1;
  }

  /** Appends to the last message if it is the assistant's; otherwise returns false. */
  extendAnswer(text: string, at?: string): boolean {
    const last = this.#open.at(-1);
    if (last?.[0] !== "assistant") return false;
    last[1] += `\n${text}`;
    this.#at = newer(this.#at, at);
    return true;
  }

  conversation(): Conversation {
    const text = [...this.#settled, ...(this.#open.length === 0 ? [] : [pairText(this.#open)])].join("\n");
    return { text, times: [...this.#times, ...this.#openTime()] };
  }

  state(): TranscriptState {
    const state = { settled: this.#settled.join("\n"), open: this.#open, count: this.#count };
    return { ...state, times: this.#times, at: this.#at ?? null };
  }

  #openTime(): Time[] {
    return this.#open.length === 0 ? [] : [[this.#start, this.#at ?? ""]];
  }
}

function pairText(messages: readonly Message[]): string {
  return `${messages.map(([role, text]) => (role === "user" ? `> ${text}` : text)).join("\n")}\n`;
}
