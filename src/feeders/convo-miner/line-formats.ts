/** Reads transcripts with one JSON object per line. Source: palace.md 5.4, and upstream 3.11's normalize module for pi. */
import { strip } from "../../memory/text/text.ts";
import { isRecord } from "../../base/parse-json.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { contentText } from "./blocks.ts";
import { stripNoise } from "./noise.ts";
import { isUnsaid, spokenContent } from "./spoken.ts";
import { timeIn } from "./times.ts";
import { type Conversation, Transcript, type TranscriptState } from "./transcript.ts";

export type LineState = { transcript: TranscriptState; hasHeader: boolean; tools: [string, string][] };

export type LineFormatName = "claude-code" | "codex" | "gemini" | "pi";

const MESSAGES_MIN = 2;

/** Content of the lines read so far. `tools`: names of the tools by `tool_use_id`. */
type Open = { transcript: Transcript; hasHeader: boolean; tools: Map<string, string> };

export class LineFormat {
  readonly #read: (line: Fields, open: Open) => void;
  readonly #needsHeader: boolean;
  readonly #open: Open;

  constructor(name: LineFormatName, state?: LineState) {
    this.#read = LINE_FORMATS[name];
    this.#needsHeader = name !== "claude-code";
    this.#open = {
      transcript: new Transcript(state?.transcript),
      hasHeader: state?.hasHeader ?? false,
      tools: new Map(state?.tools),
    };
  }

  take(line: Fields): void {
    this.#read(line, this.#open);
  }

  /** Returns the conversation; undefined if there are too few messages or the file has another format. */
  conversation(): Conversation | undefined {
    return this.isSure() ? this.#open.transcript.conversation() : undefined;
  }

  isSure(): boolean {
    const { hasHeader, transcript } = this.#open;
    if (!this.#needsHeader) return transcript.count >= (hasHeader ? 1 : MESSAGES_MIN);
    return hasHeader && transcript.count >= MESSAGES_MIN;
  }

  state(): LineState {
    const { transcript, hasHeader, tools } = this.#open;
    return { transcript: transcript.state(), hasHeader, tools: [...tools] };
  }
}

/** Readers in upstream's order: the first format that finds a conversation wins. */
export const LINE_FORMATS: Readonly<Record<LineFormatName, (line: Fields, open: Open) => void>> = {
  "claude-code": claudeLine,
  codex: messagesBy(codexLine),
  gemini: messagesBy(geminiLine),
  pi: messagesBy(piLine),
};

function claudeLine(line: Fields, open: Open): void {
  const { transcript, tools } = open;
  const message = line["message"] ?? {};
  if (!isRecord(message)) return;
  // Only Claude Code writes this field. With it, even a single message is a conversation.
  if ("parentUuid" in line) open.hasHeader = true;
  if (isUnsaid(line)) return;
  const content = spokenContent(message["content"] ?? "");
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const at = timeIn(line["timestamp"]);
  if (line["type"] === "assistant") {
    for (const block of blocks) {
      if (!isRecord(block) || block["type"] !== "tool_use" || typeof block["id"] !== "string") continue;
      if (block["id"] !== "") tools.set(block["id"], textOf(block["name"] ?? "Unknown"));
    }
    const text = stripNoise(contentText(content, tools));
    // While it calls tools, Claude Code writes several answers in succession; they count as one.
    if (text !== "" && !transcript.extendAnswer(text, at)) transcript.add("assistant", text, at);
  } else if (line["type"] === "user" || line["type"] === "human") {
    const text = stripNoise(contentText(content, tools));
    if (text === "") return;
    const isResults = Array.isArray(content) && blocks.every((block) => fieldsOf(block)["type"] === "tool_result");
    if (isResults) transcript.extendAnswer(text, at);
    else transcript.add("user", text, at);
  }
}

type Reader = (line: Fields, hasHeader: boolean) => "header" | ["user" | "assistant", string] | undefined;

function messagesBy(read: Reader): (line: Fields, open: Open) => void {
  return (line, open) => {
    const found = read(line, open.hasHeader);
    if (found === "header") open.hasHeader = true;
    else if (found !== undefined) open.transcript.add(...found, timeIn(line["timestamp"]));
  };
}

/** Reads only Codex's events, because response items repeat the conversation together with inserted context. */
function codexLine(line: Fields): ReturnType<Reader> {
  if (line["type"] === "session_meta") return "header";
  const payload = line["payload"];
  if (line["type"] !== "event_msg" || !isRecord(payload)) return undefined;
  const text = strip(textOf(payload["message"]));
  if (text === "") return undefined;
  if (payload["type"] === "user_message") return ["user", text];
  return payload["type"] === "agent_message" ? ["assistant", text] : undefined;
}

/** Ignores lines before the header. */
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
