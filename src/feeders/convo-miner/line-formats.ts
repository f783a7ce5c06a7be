/**
 * Reads transcripts with one JSON object per line: Claude Code, Codex, Gemini, pi. Each format takes line after line, and
 * its state can be saved. Pure. Used by normalize.ts. Source: palace.md 5.4, and upstream 3.11's normalize module for pi.
 */
import { strip } from "../../memory/text/text.ts";
import { isRecord } from "../../base/is-record.ts";
import { type Fields, textOf } from "../fields.ts";
import { contentText } from "./blocks.ts";
import { stripNoise } from "./noise.ts";
import { Transcript, type TranscriptState } from "./transcript.ts";

export type LineState = { transcript: TranscriptState; hasHeader: boolean; tools: [string, string][] };

export interface LineFormat {
  take(line: Fields): void;
  /** Undefined: too little, or not this format. */
  text(): string | undefined;
  /** True once it has found a conversation. */
  isSure(): boolean;
  state(): LineState;
}

export type LineFormatName = "claude-code" | "codex" | "gemini" | "pi";

/** In upstream's order: the first that yields a conversation wins. */
export const LINE_FORMATS: Readonly<Record<LineFormatName, (state?: LineState) => LineFormat>> = {
  "claude-code": (state) => new ClaudeCode(state),
  codex: (state) => new Simple(codexLine, state),
  gemini: (state) => new Simple(geminiLine, state),
  pi: (state) => new Simple(piLine, state),
};

const MESSAGES_MIN = 2;
const NOTHING: LineState = { transcript: { settled: "", open: [], count: 0 }, hasHeader: false, tools: [] };

class ClaudeCode implements LineFormat {
  readonly #transcript: Transcript;
  /** tool_use_id → name. */
  readonly #tools: Map<string, string>;

  constructor({ transcript, tools }: LineState = NOTHING) {
    this.#transcript = new Transcript(transcript);
    this.#tools = new Map(tools);
  }

  take(line: Fields): void {
    const message = line["message"] ?? {};
    if (!isRecord(message)) return;
    const content = message["content"] ?? "";
    if (line["type"] === "assistant") this.#takeAnswer(content);
    else if (line["type"] === "user" || line["type"] === "human") this.#takeQuestion(content);
  }

  #takeAnswer(content: unknown): void {
    for (const block of Array.isArray(content) ? (content as unknown[]) : []) {
      if (!isRecord(block) || block["type"] !== "tool_use" || typeof block["id"] !== "string") continue;
      if (block["id"] !== "") this.#tools.set(block["id"], textOf(block["name"] ?? "Unknown"));
    }
    const text = stripNoise(contentText(content, this.#tools));
    // Several answers in a row are one: a loop of tools.
    if (text !== "" && !this.#transcript.extendAnswer(text)) this.#transcript.add("assistant", text);
  }

  #takeQuestion(content: unknown): void {
    const text = stripNoise(contentText(content, this.#tools));
    if (text === "") return;
    const isResults =
      Array.isArray(content) && content.every((block) => isRecord(block) && block["type"] === "tool_result");
    if (isResults) this.#transcript.extendAnswer(text);
    else this.#transcript.add("user", text);
  }

  text(): string | undefined {
    return this.isSure() ? this.#transcript.text() : undefined;
  }

  isSure(): boolean {
    return this.#transcript.count >= MESSAGES_MIN;
  }

  state(): LineState {
    return { transcript: this.#transcript.state(), hasHeader: false, tools: [...this.#tools] };
  }
}

/** A line's meaning in a format: its header, a message, or nothing. */
type Reader = (line: Fields, hasHeader: boolean) => "header" | ["user" | "assistant", string] | undefined;

class Simple implements LineFormat {
  readonly #read: Reader;
  readonly #transcript: Transcript;
  #hasHeader: boolean;

  constructor(read: Reader, { transcript, hasHeader }: LineState = NOTHING) {
    this.#read = read;
    this.#transcript = new Transcript(transcript);
    this.#hasHeader = hasHeader;
  }

  take(line: Fields): void {
    const found = this.#read(line, this.#hasHeader);
    if (found === "header") this.#hasHeader = true;
    else if (found !== undefined) this.#transcript.add(...found);
  }

  text(): string | undefined {
    return this.isSure() ? this.#transcript.text() : undefined;
  }

  isSure(): boolean {
    return this.#hasHeader && this.#transcript.count >= MESSAGES_MIN;
  }

  state(): LineState {
    return { transcript: this.#transcript.state(), hasHeader: this.#hasHeader, tools: [] };
  }
}

/** The events are the conversation; response items repeat it with what was put into the context. */
function codexLine(line: Fields): ReturnType<Reader> {
  if (line["type"] === "session_meta") return "header";
  const payload = line["payload"];
  if (line["type"] !== "event_msg" || !isRecord(payload)) return undefined;
  const text = strip(textOf(payload["message"]));
  if (text === "") return undefined;
  if (payload["type"] === "user_message") return ["user", text];
  return payload["type"] === "agent_message" ? ["assistant", text] : undefined;
}

/** Lines before the header are not part of the conversation. */
function geminiLine(line: Fields, hasHeader: boolean): ReturnType<Reader> {
  if (line["type"] === "session_metadata") return "header";
  if (!hasHeader || (line["type"] !== "user" && line["type"] !== "gemini")) return undefined;
  const blocks: unknown[] = Array.isArray(line["content"]) ? line["content"] : [];
  const texts = blocks.flatMap((block) => (isRecord(block) ? [textOf(block["text"])] : []));
  const text = texts.filter((one) => strip(one) !== "").join("\n");
  if (text === "") return undefined;
  return [line["type"] === "user" ? "user" : "assistant", text];
}

function piLine(line: Fields): ReturnType<Reader> {
  if (line["type"] === "session" && line["version"] !== undefined) return "header";
  const message = line["message"];
  if (line["type"] !== "message" || !isRecord(message)) return undefined;
  const { role } = message;
  if (role !== "user" && role !== "assistant") return undefined;
  const text = contentText(message["content"] ?? "");
  return text === "" ? undefined : [role, text];
}
