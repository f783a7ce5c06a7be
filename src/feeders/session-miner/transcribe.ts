/** Writes a session as a Claude Code transcript for the conversation miner. The same session always gives the same bytes. */
import { createHash } from "node:crypto";
import type { Block, HarnessName, Session, Turn } from "./session.ts";

const REASONING = "[reasoning] ";
const NAME_MAX = 100;

/** Upstream's names of built-in tools. Upstream shortens only calls of tools with these names. */
const TOOLS: Readonly<Record<string, string>> = {
  bash: "Bash",
  read: "Read",
  edit: "Edit",
  write: "Write",
  grep: "Grep",
  glob: "Glob",
  find: "Glob",
};
const ARGUMENTS: Readonly<Record<string, string>> = { filePath: "file_path", include: "glob" };

export function transcribe(session: Session): string {
  const lines: string[] = [];
  let parent: string | null = null;
  const line = (type: "user" | "assistant", uuid: string, atMs: number, content: unknown): void => {
    const record = {
      parentUuid: parent,
      isSidechain: false,
      type,
      uuid,
      sessionId: session.id,
      timestamp: isoTime(atMs) ?? isoTime(session.createdMs) ?? isoTime(0),
      cwd: session.directory,
      message: { role: type, content },
    };
    parent = uuid;
    lines.push(JSON.stringify(record).toWellFormed());
  };
  line("user", `${session.id}-header`, session.createdMs, header(session));
  for (const turn of session.turns) {
    if (turn.role === "user") line("user", turn.id, turn.atMs, questionText(turn));
    else answerLines(turn, line);
  }
  return `${lines.join("\n")}\n`;
}

/** Returns the transcript's file name, without the session's title, which may change. */
export function transcriptName(harness: HarnessName, { id, createdMs }: Pick<Session, "id" | "createdMs">): string {
  const date = isoTime(createdMs)?.slice(0, 10) ?? "undated";
  const safe = id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, NAME_MAX);
  const tag = safe === id ? "" : `-${createHash("sha256").update(id).digest("hex").slice(0, 8)}`;
  return `${harness}-${date}-${safe}${tag}.jsonl`;
}

function header({ title, agent, directory, createdMs, id }: Session): string {
  const lines = [
    `[session] ${oneLine(title) || "untitled"}`,
    `Agent: ${oneLine(agent)}`,
    ...(directory === "" ? [] : [`Project: ${oneLine(directory)}`]),
    ...(isoTime(createdMs) === undefined ? [] : [`Started: ${isoTime(createdMs)}`]),
    `Session: ${oneLine(id)}`,
  ];
  return lines.join("\n");
}

function questionText({ blocks }: Turn): string {
  return blocks.map(plainText).join("\n");
}

function answerLines(
  { id, atMs, blocks }: Turn,
  line: (type: "user" | "assistant", uuid: string, atMs: number, content: unknown) => void,
): void {
  blocks.forEach((block, index) => {
    const uuid = `${id}-${index}`;
    if (block.type !== "tool") {
      line("assistant", uuid, atMs, [{ type: "text", text: plainText(block) }]);
      return;
    }
    const name = Object.hasOwn(TOOLS, block.name) ? TOOLS[block.name] : block.name;
    // An id of a call need not be unique in the session, so it gets the line's id as a prefix.
    const use = `${uuid}-${block.id}`;
    line("assistant", uuid, atMs, [{ type: "tool_use", id: use, name, input: renamed(block.input) }]);
    if (block.output === undefined) return;
    const result = { type: "tool_result", tool_use_id: use, content: block.output, is_error: block.isError === true };
    line("user", `${uuid}-result`, atMs, [result]);
  });
}

function plainText(block: Block): string {
  if (block.type === "tool") return "";
  return block.type === "reasoning" ? REASONING + block.text : block.text;
}

function renamed(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [Object.hasOwn(ARGUMENTS, key) ? ARGUMENTS[key] : key, value]),
  );
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Returns undefined for a time outside of the calendar. */
export function isoTime(ms: number): string | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
