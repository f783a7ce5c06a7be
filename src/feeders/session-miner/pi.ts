/** Reads pi's transcripts. Each is a tree; the path from its root to the last entry is the conversation. Source: harnesses.md 2.7. */
import { titleOf } from "./claude-code.ts";
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
} from "./session.ts";

/** Tools whose argument `path` upstream calls `file_path`. */
const FILE_TOOLS = new Set(["read", "edit", "write"]);

export function openPi(root: string): SessionSource {
  return openFolder({ root, what: "pi", deep: false, read: readPi });
}

export function readPi(head: SessionHead, lines: Iterable<Fields>): Session {
  const session: Session = {
    ...{ id: head.id, title: "", directory: "", agent: "pi", createdMs: NaN, updatedMs: head.updatedMs },
    turns: [],
  };
  const entries: Fields[] = [];
  for (const line of lines) {
    if (line["type"] === "session") {
      session.id = textOf(line["id"]) || session.id;
      session.directory = textOf(line["cwd"]);
      session.createdMs = timeOf(line["timestamp"]);
    } else entries.push(line);
  }
  const calls = new Map<string, ToolCall>();
  for (const entry of branch(entries)) {
    if (entry["type"] === "session_info") session.title = textOf(entry["name"]);
    if (entry["type"] !== "message") continue;
    const message = fieldsOf(entry["message"]);
    const { role } = message;
    if (role === "toolResult")
      answerCall(calls.get(textOf(message["toolCallId"])), message["content"], message["isError"]);
    if (role !== "user" && role !== "assistant") continue;
    const blocks = blocksOf(message["content"], (block) => toolBlock(block, calls));
    const atMs = timeOf(entry["timestamp"]);
    if (blocks.length > 0) session.turns.push({ id: textOf(entry["id"]), role, atMs, blocks });
  }
  if (session.title === "") session.title = titleOf(session.turns);
  return session;
}

/** Returns the path from the root to the last entry. If an entry's parent is missing (a damaged line), the line before the entry counts. */
function branch(entries: readonly Fields[]): Fields[] {
  const byId = new Map(entries.map((entry) => [textOf(entry["id"]), entry]));
  const isTree = entries.some((entry) => typeof entry["parentId"] === "string");
  if (!isTree) return [...entries];
  const way: Fields[] = [];
  const seen = new Set<Fields>();
  for (let entry = entries.at(-1); entry !== undefined && !seen.has(entry);) {
    seen.add(entry);
    way.push(entry);
    const parent = textOf(entry["parentId"]);
    entry = byId.get(parent) ?? (parent === "" ? undefined : entries[entries.indexOf(entry) - 1]);
  }
  return way.reverse();
}

function toolBlock(block: Fields, calls: Map<string, ToolCall>): Block[] {
  if (block["type"] !== "toolCall") return [];
  const name = textOf(block["name"]) || "Unknown";
  const { path, ...rest } = fieldsOf(block["arguments"]);
  const input = path === undefined ? rest : { [FILE_TOOLS.has(name) ? "file_path" : "path"]: path, ...rest };
  const call = { type: "tool" as const, id: textOf(block["id"]), name, input };
  calls.set(call.id, call);
  return [call];
}
