/** How a tool's value becomes MCP's result: MemPalace answers in JSON, the memory of outcomes in sentences. Pure. */
import type { Tool } from "./table.ts";

export type ToolResult = { content: { type: "text"; text: string }[]; isError?: true };

/** `value`: of the outcome surface, `{ text, isError?, notice? }`. */
export function toolResult({ surface }: Pick<Tool, "surface">, value: unknown): ToolResult {
  if (surface === "outcome") {
    const { text, isError, notice } = value as { text: string; isError?: true; notice?: string };
    const told = notice === undefined ? text : `${text}\n\n${notice}`;
    return { content: [{ type: "text", text: told }], ...(isError && { isError }) };
  }
  return { content: [{ type: "text", text: JSON.stringify(value, null, 2) }] };
}
