/** Renders the content of one message as text, with tools and their results. Source: palace.md 5.4 "Claude Code details". */
import { codePointLength, head, strip } from "../../memory/text/text.ts";
import { isRecord } from "../../base/parse-json.ts";
import { type Fields, fieldsOf, textOf } from "../fields.ts";
import { jsonDumps, str } from "./python.ts";

const INPUT_MAX = 200;
const BASH_LINES = 20;
const MATCHES_MAX = 20;
const RESULT_MAX = 2048;

/** Returns the content as text. `tools`: names of the tools by `tool_use_id`. */
export function contentText(content: unknown, tools?: ReadonlyMap<string, string>): string {
  if (typeof content === "string") return strip(content);
  if (Array.isArray(content)) {
    const parts = content.map((block) => (typeof block === "string" ? block : blockText(block, tools)));
    return strip(parts.filter((part) => part !== "").join("\n"));
  }
  return isRecord(content) ? strip(textOf(content["text"])) : "";
}

function blockText(block: unknown, tools: ReadonlyMap<string, string> | undefined): string {
  if (!isRecord(block)) return "";
  switch (block["type"]) {
    case "text":
      return textOf(block["text"]);
    case "tool_use":
      return toolUse(block);
    case "tool_result":
      return toolResult(block["content"], tools?.get(textOf(block["tool_use_id"])) ?? "Unknown");
    default:
      return "";
  }
}

function toolUse(block: Fields): string {
  const name = block["name"] === undefined ? "Unknown" : str(block["name"]);
  const given = block["input"];
  const input = fieldsOf(given);
  const field = (key: string, absent: string): string => (input[key] === undefined ? absent : str(input[key]));
  switch (name) {
    case "Bash":
      return `[Bash] ${cut(field("command", ""))}`;
    case "Read":
      return readUse(field("file_path", "?"), input["offset"], input["limit"]);
    case "Grep":
      return `[Grep] ${field("pattern", "")} in ${str(given === undefined ? "" : input["path"] || input["glob"] || "")}`;
    case "Glob":
      return `[Glob] ${field("pattern", "")}`;
    case "Edit":
    case "Write":
      return `[${name} ${field("file_path", "?")}]`;
    default:
      return `[${name}] ${cut(jsonDumps(given === undefined || Array.isArray(given) ? {} : given))}`;
  }
}

function readUse(path: string, offset: unknown, limit: unknown): string {
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  if (!isGiven(offset) || !isGiven(limit)) return `[Read ${path}]`;
  const first = wholeNumber(offset);
  const count = wholeNumber(limit);
  const isNumeric = first !== undefined && count !== undefined;
  return `[Read ${path}:${str(offset)}${isNumeric ? `-${first + count}` : `+${str(limit)}`}]`;
}

/** Returns Python's `int(value)`; undefined where Python raises an error. */
function wholeNumber(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return Math.trunc(value);
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" && /^[+-]?\d+(?:_\d+)*$/.test(strip(value))
    ? Number(strip(value).replaceAll("_", ""))
    : undefined;
}

function toolResult(content: unknown, tool: string): string {
  const text = strip(resultText(content));
  if (text === "" || tool === "Read" || tool === "Edit" || tool === "Write") return "";
  const lines = text.split("\n");
  if (tool === "Bash") {
    if (lines.length <= 2 * BASH_LINES) return arrows(lines);
    const omitted = lines.length - 2 * BASH_LINES;
    return arrows([...lines.slice(0, BASH_LINES), `... [${omitted} lines omitted] ...`, ...lines.slice(-BASH_LINES)]);
  }
  if (tool === "Grep" || tool === "Glob") {
    if (lines.length <= MATCHES_MAX) return arrows(lines);
    return arrows([...lines.slice(0, MATCHES_MAX), `... [${lines.length - MATCHES_MAX} more matches]`]);
  }
  const length = codePointLength(text);
  return length > RESULT_MAX ? `→ ${head(text, RESULT_MAX)}... [truncated, ${length} chars]` : `→ ${text}`;
}

function resultText(content: unknown): string {
  if (!Array.isArray(content)) return content ? str(content) : "";
  const parts = content.flatMap((block) => {
    if (typeof block === "string") return [block];
    return isRecord(block) && block["type"] === "text" ? [textOf(block["text"])] : [];
  });
  return parts.join("\n");
}

function arrows(lines: readonly string[]): string {
  return lines.map((line) => `→ ${line}`).join("\n");
}

function cut(text: string): string {
  return codePointLength(text) > INPUT_MAX ? `${head(text, INPUT_MAX)}...` : text;
}
