/** Converts a tool's value to MCP's result, and recognises refusals. */
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import type { Tool } from "./table.ts";

export type ToolResult = { content: { type: "text"; text: string }[]; structuredContent?: unknown; isError?: true };

/** Makes the result of a tool call. `isModern`: adds `structuredContent`, which older clients do not expect. */
export function toolResult({ surface }: Pick<Tool, "surface">, value: unknown, isModern: boolean): ToolResult {
  if (surface === "outcome") {
    const { text, isError, notice } = value as { text: string; isError?: true; notice?: string };
    const told = notice === undefined ? text : `${text}\n\n${notice}`;
    return { content: [{ type: "text", text: told }], ...(isError && { isError }) };
  }
  const content = [{ type: "text" as const, text: JSON.stringify(value, null, 2) }];
  return { content, ...(isModern && { structuredContent: value }) };
}

/** Returns true if `value`, from a tool or a method, says that the call was refused. A partly successful call was not refused. */
export function isRefusal(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { success, error, isError, deleted, added, errors, diary } = value;
  if (success === false || typeof error === "string" || isError === true) return true;
  // In the answer of `delete_drawers`, `deleted` and `errors` are numbers.
  if (deleted === 0 && typeof errors === "number") return errors > 0;
  const isNothingAdded = Array.isArray(added) && added.length === 0 && (diary === undefined || isRefusal(diary));
  return isNothingAdded && (isRefusal(diary) || (Array.isArray(errors) && errors.length > 0));
}

/** Does the same as `isRefusal` for an answer on the wire: MCP's result of a tool, or the result of one of our own methods. */
export function isRefusedResult(result: unknown): boolean {
  const [part]: unknown[] = isRecord(result) && Array.isArray(result["content"]) ? result["content"] : [];
  return (
    isRefusal(result) || (isRecord(part) && typeof part["text"] === "string" && isRefusal(parseRecord(part["text"])))
  );
}
