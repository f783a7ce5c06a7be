/** Converts rows of opencode's database (1.2 or newer) into turns. Source: harnesses.md 1.7; opencode 2's session-message.ts. */
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { type Block, said, type Turn } from "./session.ts";

export type MessageRow = { id: string; time: number; data: string };
export type PartRow = { message: string; data: string };
/** Message of opencode 2. `data` has all its parts. */
export type TypedRow = { id: string; time: number; type: string; data: string };

/** Converts messages of opencode 1.x. Both lists must be in order of creation. */
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
    const { role, summary } = parse(data);
    // Leaves out summaries, which only repeat the session.
    if ((role !== "user" && role !== "assistant") || summary === true) return [];
    const blocks = blocksOf.get(id) ?? [];
    // Leaves out tool blocks in a user's message, which come from commands.
    const said = role === "user" ? blocks.filter(({ type }) => type === "text") : blocks;
    return said.length === 0 ? [] : [{ id, role, atMs: time, blocks: said }];
  });
}

/** Converts messages of opencode 2 in order of `seq`. Leaves out inserted texts and summaries. */
export function typedTurnsOf(rows: readonly TypedRow[]): Turn[] {
  return rows.flatMap(({ id, time, type, data }): Turn[] => {
    const message = parse(data);
    const blocks = typedBlocks(type, message);
    return blocks.length === 0 ? [] : [{ id, role: type === "user" ? "user" : "assistant", atMs: time, blocks }];
  });
}

function typedBlocks(type: string, message: Fields): Block[] {
  switch (type) {
    case "user":
      return [filled("text", message["text"]), ...list(message["files"]).map(fileBlock)].filter(isBlock);
    case "assistant":
      return list(message["content"]).map(contentBlock).filter(isBlock);
    case "shell": {
      // A shell command of the user becomes a tool call in the transcript.
      const { command, output } = message;
      const said = isRecord(output) ? textOf(output["output"]) || textOf(output["text"]) : textOf(output);
      return [
        {
          type: "tool",
          id: textOf(message["shellID"]),
          name: "bash",
          input: { command: textOf(command) },
          output: said,
        },
      ];
    }
    default:
      return [];
  }
}

function contentBlock(part: Fields): Block | undefined {
  if (part["type"] === "text" || part["type"] === "reasoning") return filled(part["type"], part["text"]);
  if (part["type"] !== "tool") return undefined;
  const state = fieldsOf(part["state"]);
  const input = fieldsOf(state["input"]);
  const call = { type: "tool" as const, id: textOf(part["id"]), name: textOf(part["name"]) || "Unknown", input };
  if (state["status"] === "error")
    return { ...call, output: `Error: ${typedError(state["error"]) ?? ""}`, isError: true };
  if (state["status"] !== "completed") return call;
  const texts = list(state["content"]).map((one) => textOf(one["text"]));
  return { ...call, output: texts.filter((one) => one !== "").join("\n") };
}

function typedError(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  return textOf(error["message"]) || textOf(error["type"]) || "Error";
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function isBlock(block: Block | undefined): block is Block {
  return block !== undefined;
}

function blockOf(part: Fields): Block | undefined {
  switch (part["type"]) {
    case "text":
      // Leaves out parts that opencode or a plugin inserted.
      return part["synthetic"] === true || part["ignored"] === true ? undefined : filled("text", part["text"]);
    case "reasoning":
      return filled("reasoning", part["text"]);
    case "file":
      return fileBlock(part);
    case "subtask":
      return filled(
        "text",
        [`[subtask @${textOf(part["agent"])}]`, textOf(part["description"]), textOf(part["prompt"])].join(" "),
      );
    case "tool":
      return toolBlock(part);
    default:
      return undefined;
  }
}

function filled(type: "text" | "reasoning", value: unknown): Block | undefined {
  return said(type, value)[0];
}

/** Returns a file's name as text, never its content. */
function fileBlock(part: Fields): Block | undefined {
  const url = textOf(part["url"]) || textOf(part["uri"]);
  const name = textOf(part["filename"]) || textOf(part["name"]) || (url.startsWith("file://") ? url : "");
  return name === "" ? undefined : { type: "text", text: `[file ${name}]` };
}

/** Returns a call without `output` if it was killed. */
function toolBlock(part: Fields): Block {
  const state = fieldsOf(part["state"]);
  const input = fieldsOf(state["input"]);
  const call = { type: "tool" as const, id: textOf(part["callID"]), name: textOf(part["tool"]) || "Unknown", input };
  if (state["status"] === "completed") return { ...call, output: textOf(state["output"]) };
  if (state["status"] === "error") return { ...call, output: `Error: ${textOf(state["error"])}`, isError: true };
  return call;
}

function parse(json: string): Fields {
  return fieldsOf(parseJson(json));
}
