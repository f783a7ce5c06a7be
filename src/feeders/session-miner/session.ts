/** Types of an agent's session, and functions that read its messages. */
import { type Fields, fieldsOf, textOf } from "../fields.ts";

export type Block = { type: "text"; text: string } | { type: "reasoning"; text: string } | ToolCall;
/** Tool call. `output` is absent if the call has no result. */
export type ToolCall = {
  type: "tool";
  id: string;
  name: string;
  input: Record<string, unknown>;
  output?: string;
  isError?: boolean;
};

/** Message. `atMs`: ms since the epoch. */
export type Turn = { id: string; role: "user" | "assistant"; atMs: number; blocks: Block[] };

/** Data of a session that `list` returns without reading the session. */
export type SessionHead = {
  id: string;
  updatedMs: number;
  /** Text that differs after every change of the session. */
  version: string;
  /** Generation of the agent's database tables ("opencode 1"); absent for an agent without a database. */
  generation?: string;
};

export type Session = {
  id: string;
  title: string;
  /** The agent's working directory; "" if unknown. */
  directory: string;
  agent: string;
  createdMs: number;
  updatedMs: number;
  turns: Turn[];
  /** For the id of each copied turn: id of the session from which the turn was copied. */
  copies?: ReadonlyMap<string, string>;
};

export type HarnessName = "opencode" | "claude-code" | "pi";

/** Sessions of one agent. Every method may throw FEEDER_SOURCE_UNREADABLE. */
export interface SessionSource {
  /** Path of the folder or database with the sessions. The miner keeps separate notes for each path. */
  readonly place: string;
  list(): SessionHead[];
  /** Returns undefined if the session was deleted after it was listed. */
  read(head: SessionHead): Session | undefined;
  close(): void;
}

function resultText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content
    .map((block) => textOf(fieldsOf(block)["text"]))
    .filter((one) => one !== "")
    .join("\n");
}

export function said(type: "text" | "reasoning", value: unknown): Block[] {
  const text = textOf(value).trim();
  return text === "" ? [] : [{ type, text }];
}

/** Converts a message's content. `other` converts a block that is neither text nor reasoning. */
export function blocksOf(content: unknown, other: (block: Fields) => Block[]): Block[] {
  if (typeof content === "string") return said("text", content);
  if (!Array.isArray(content)) return [];
  return content.map(fieldsOf).flatMap((block): Block[] => {
    if (block["type"] === "text") return said("text", block["text"]);
    return block["type"] === "thinking" ? said("reasoning", block["thinking"]) : other(block);
  });
}

export function answerCall(call: ToolCall | undefined, content: unknown, isError: unknown): void {
  if (call !== undefined) Object.assign(call, { output: resultText(content), isError: isError === true });
}
