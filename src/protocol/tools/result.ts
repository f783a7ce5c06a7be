/** Converts a tool's value to MCP's result: MemPalace answers in JSON, memory that learns from outcomes in sentences. Pure. */
import type { Tool } from "./table.ts";

export type ToolResult = { content: { type: "text"; text: string }[]; structuredContent?: unknown; isError?: true };

/**
 * Makes the result. `value` of an outcome tool is `{ text, isError?, notice? }`. `isModern`: the result also contains the value itself;
 * older clients do not expect that.
 */
export function toolResult({ surface }: Pick<Tool, "surface">, value: unknown, isModern: boolean): ToolResult {
  if (surface === "outcome") {
    const { text, isError, notice } = value as { text: string; isError?: true; notice?: string };
    const told = notice === undefined ? text : `${text}\n\n${notice}`;
    return { content: [{ type: "text", text: told }], ...(isError && { isError }) };
  }
  const content = [{ type: "text" as const, text: JSON.stringify(value, null, 2) }];
  return { content, ...(isModern && { structuredContent: value }) };
}
