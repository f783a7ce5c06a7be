/**
 * Converts rows of opencode's database into turns. Pure: the rows come from another program, any version since 1.2,
 * possibly while it writes. Used by opencode.ts. Source: harnesses.md 1.7; for opencode 2 its published types
 * (packages/schema/src/session-message.ts).
 */
import type { Block, Turn } from "./session.ts";

export type MessageRow = { id: string; time: number; data: string };
export type PartRow = { message: string; data: string };
/** A message of opencode 2, with all its parts. */
export type TypedRow = { id: string; time: number; type: string; data: string };

/** Both lists are in the order of creation. */
export function turnsOf(messages: readonly MessageRow[], parts: readonly PartRow[]): Turn[] {
  const blocksOf = new Map<string, Block[]>();
  for (const { message, data } of parts) {
    const block = blockOf(parse(data));
    if (block === undefined) continue;
    const blocks = blocksOf.get(message);
    if (blocks === undefined) blocksOf.set(message, [block]);
    else blocks.push(block);
  }
  return messages.flatMap(({ id, time, data }) => {
    const { role, summary, error } = parse(data) ?? {};
    // A summary repeats what the session already holds.
    if ((role !== "user" && role !== "assistant") || summary === true) return [];
    const failure = errorText(error);
    const blocks: Block[] = [
      ...(blocksOf.get(id) ?? []),
      ...(failure === undefined ? [] : [{ type: "text" as const, text: failure }]),
    ];
    // A user calls no tools: blocks that a command leaves there were not said by anybody.
    const said = role === "user" ? blocks.filter(({ type }) => type === "text") : blocks;
    return said.length === 0 ? [] : [{ id, role, atMs: time, blocks: said }];
  });
}

/** Converts messages of opencode 2, in the order of `seq`. Leaves out injected texts, summaries and marks. */
export function typedTurnsOf(rows: readonly TypedRow[]): Turn[] {
  return rows.flatMap(({ id, time, type, data }): Turn[] => {
    const message = parse(data) ?? {};
    const blocks = typedBlocks(type, message);
    return blocks.length === 0 ? [] : [{ id, role: type === "user" ? "user" : "assistant", atMs: time, blocks }];
  });
}

function typedBlocks(type: string, message: Fields): Block[] {
  switch (type) {
    case "user":
      return [filled("text", message["text"]), ...list(message["files"]).map(fileBlock)].filter(isBlock);
    case "assistant": {
      const failure = typedError(message["error"]);
      const said = failure === undefined ? undefined : filled("text", `[error] ${failure}`);
      return [...list(message["content"]).map(contentBlock), said].filter(isBlock);
    }
    case "shell": {
      // The user typed it: it is shown as the tool that agents have for it.
      const { command, output } = message;
      const said = isFields(output) ? text(output["output"]) || text(output["text"]) : text(output);
      return [
        { type: "tool", id: text(message["shellID"]), name: "bash", input: { command: text(command) }, output: said },
      ];
    }
    default:
      return [];
  }
}

function contentBlock(part: Fields): Block | undefined {
  if (part["type"] === "text" || part["type"] === "reasoning") return filled(part["type"], part["text"]);
  if (part["type"] !== "tool") return undefined;
  const state = isFields(part["state"]) ? part["state"] : {};
  const input = isFields(state["input"]) ? state["input"] : {};
  const call = { type: "tool" as const, id: text(part["id"]), name: text(part["name"]) || "Unknown", input };
  if (state["status"] === "error")
    return { ...call, output: `Error: ${typedError(state["error"]) ?? ""}`, isError: true };
  if (state["status"] !== "completed") return call;
  const texts = list(state["content"]).map((one) => text(one["text"]));
  return { ...call, output: texts.filter((one) => one !== "").join("\n") };
}

function typedError(error: unknown): string | undefined {
  if (!isFields(error)) return undefined;
  return text(error["message"]) || text(error["type"]) || "Error";
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function isBlock(block: Block | undefined): block is Block {
  return block !== undefined;
}

function blockOf(part: Fields | undefined): Block | undefined {
  switch (part?.["type"]) {
    case "text":
      // opencode or a plugin inserted this part: nobody said it.
      return part["synthetic"] === true || part["ignored"] === true ? undefined : filled("text", part["text"]);
    case "reasoning":
      return filled("reasoning", part["text"]);
    case "file":
      return fileBlock(part);
    case "subtask":
      return filled(
        "text",
        [`[subtask @${text(part["agent"])}]`, text(part["description"]), text(part["prompt"])].join(" "),
      );
    case "tool":
      return toolBlock(part);
    default:
      return undefined;
  }
}

function filled(type: "text" | "reasoning", value: unknown): Block | undefined {
  const said = text(value).trim();
  return said === "" ? undefined : { type, text: said };
}

/** Shows a file's path, never its content. */
function fileBlock(part: Fields): Block | undefined {
  const url = text(part["url"]) || text(part["uri"]);
  const name = text(part["filename"]) || text(part["name"]) || (url.startsWith("file://") ? url : "");
  return name === "" ? undefined : { type: "text", text: `[file ${name}]` };
}

/** A killed call has no result, and never gets one. */
function toolBlock(part: Fields): Block {
  const state = isFields(part["state"]) ? part["state"] : {};
  const input = isFields(state["input"]) ? state["input"] : {};
  const call = { type: "tool" as const, id: text(part["callID"]), name: text(part["tool"]) || "Unknown", input };
  if (state["status"] === "completed") return { ...call, output: text(state["output"]) };
  if (state["status"] === "error") return { ...call, output: `Error: ${text(state["error"])}`, isError: true };
  return call;
}

function errorText(error: unknown): string | undefined {
  if (!isFields(error)) return undefined;
  const message = isFields(error["data"]) ? text(error["data"]["message"]) : "";
  return `[error] ${text(error["name"]) || "Error"}${message === "" ? "" : `: ${message}`}`;
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parse(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
