/** How a tool's value becomes MCP's result: MemPalace answers in JSON, the memory of outcomes in sentences. Pure. */
import type { Tool } from "./table.ts";

export type ToolResult = { content: { type: "text"; text: string }[]; isError?: true };

/** `value`: of the outcome surface, `{ text, isError? }`. */
export function toolResult({ surface }: Pick<Tool, "surface">, value: unknown): ToolResult {
  if (surface === "outcome") {
    const { text, isError } = value as { text: string; isError?: true };
    return { content: [{ type: "text", text }], ...(isError && { isError }) };
  }
  return { content: [{ type: "text", text: JSON.stringify(value, null, 2) }] };
}
