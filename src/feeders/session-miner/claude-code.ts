/** Reads sessions from Claude Code's transcripts. Skips lines inserted by Claude Code and, by default, subagents (harnesses.md 3.4). */
import { isUnsaid, spokenContent } from "../convo-miner/spoken.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { openFolder, timeOf } from "./jsonl.ts";
import {
  answerCall,
  type Block,
  blocksOf,
  type Session,
  type SessionHead,
  type SessionSource,
  type ToolCall,
  type Turn,
} from "./session.ts";

const TITLE_MAX = 80;

export function openClaudeCode(root: string, includeSubagents: boolean): SessionSource {
  return openFolder({
    root,
    what: "Claude Code",
    deep: includeSubagents,
    read: (head, lines) => readClaudeCode(head, lines, includeSubagents),
  });
}

export function readClaudeCode(head: SessionHead, lines: Iterable<Fields>, includeSubagents: boolean): Session {
  const session: Session = {
    ...{ id: head.id, title: "", directory: "", agent: "Claude Code", createdMs: NaN, updatedMs: head.updatedMs },
    turns: [],
  };
  const calls = new Map<string, ToolCall>();
  for (const line of lines) {
    if (session.directory === "") session.directory = textOf(line["cwd"]);
    if (line["type"] === "summary" && session.title === "") session.title = textOf(line["summary"]);
    const isMain = includeSubagents || line["isSidechain"] !== true;
    if (isUnsaid(line) || !isMain || (line["type"] !== "user" && line["type"] !== "assistant")) continue;
    const atMs = timeOf(line["timestamp"]);
    if (Number.isNaN(session.createdMs)) session.createdMs = atMs;
    const message = fieldsOf(line["message"]);
    const blocks = blocksOf(spokenContent(message["content"]), (block) => toolBlock(block, calls));
    add(session.turns, { id: idOf(line, message), role: line["type"], atMs, blocks });
  }
  if (session.title === "") session.title = titleOf(session.turns);
  return session;
}

/** Adds a turn, or adds its blocks to the last turn: an assistant's message may span several lines. */
function add(turns: Turn[], turn: Turn): void {
  const last = turns.at(-1);
  if (turn.blocks.length === 0) return;
  if (last?.role === "assistant" && last.role === turn.role && last.id === turn.id) last.blocks.push(...turn.blocks);
  else turns.push(turn);
}

/** Returns the message's id, which all its lines share, else the line's id. */
function idOf(line: Fields, message: Fields): string {
  return (line["type"] === "assistant" ? textOf(message["id"]) : "") || textOf(line["uuid"]);
}

function toolBlock(block: Fields, calls: Map<string, ToolCall>): Block[] {
  if (block["type"] === "tool_result")
    answerCall(calls.get(textOf(block["tool_use_id"])), block["content"], block["is_error"]);
  if (block["type"] !== "tool_use") return [];
  const call = {
    ...{ type: "tool" as const, id: textOf(block["id"]), name: textOf(block["name"]) || "Unknown" },
    input: fieldsOf(block["input"]),
  };
  calls.set(call.id, call);
  return [call];
}

/** Returns the first line of the first question, cut to TITLE_MAX characters. */
export function titleOf(turns: readonly Turn[]): string {
  const first = turns.find(({ role }) => role === "user")?.blocks.find(({ type }) => type === "text");
  const line = first?.type === "text" ? (first.text.split("\n")[0] ?? "") : "";
  const points = Array.from(line);
  return points.length > TITLE_MAX ? `${points.slice(0, TITLE_MAX - 1).join("")}…` : line;
}
