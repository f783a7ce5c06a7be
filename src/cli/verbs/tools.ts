/** `palace call tools [NAME]` lists the MCP tools that agents see, or one of them with its parameters. */
import type { ToolInfo } from "../../wire/client/client.ts";
import { PalaceError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../protocol/spec.ts";
import { nearestWord } from "../../base/nearest.ts";
import { type Cell, type Output, shorten } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

const PREFIX = "mempalace_";

export const verb = defineVerb({
  usage: `palace call tools [NAME]

Lists the MCP tools with what they do, or the parameters of one; the prefix ${PREFIX} may be left out. --json has everything.
Example: palace call tools search`,
  args: [0, 1],
  run: async ({ args: [name], connect, out }) => {
    const client = await connect("palace tools");
    const tools = await client.listTools();
    if (name !== undefined) showTool(findTool(tools, name), out);
    else if (out.isJson) out.document(tools);
    else {
      const width = Math.max(0, ...tools.map(({ name: one }) => one.length));
      const room = out.isTerminal ? Math.max(out.columns - width - 3, 20) : Infinity;
      out.table(tools.map(({ name: one, description }) => [one, shorten(description, room)]));
    }
    return 0;
  },
});

function findTool(tools: readonly ToolInfo[], name: string): ToolInfo {
  const full = name.startsWith(PREFIX) ? name : PREFIX + name;
  const found = tools.find((tool) => tool.name === full);
  if (found !== undefined) return found;
  const near = nearestWord(
    full.slice(PREFIX.length),
    tools.map((tool) => tool.name.slice(PREFIX.length)),
  );
  const hint = near === undefined ? "run `palace call tools`" : `did you mean \`palace call tools ${near}\`?`;
  throw new PalaceError("PROTOCOL_UNKNOWN_METHOD", `there is no tool ${name}`, hint);
}

function showTool(tool: ToolInfo, out: Output): void {
  if (out.isJson) return void out.document(tool);
  const properties = (tool.inputSchema["properties"] ?? {}) as Record<string, JsonObject>;
  const required = new Set((tool.inputSchema["required"] ?? []) as Json[]);
  out.text(`${tool.name}: ${tool.description}`);
  const rows = Object.entries(properties).map(([name, schema]): Cell[] => [
    name,
    typeOf(schema),
    required.has(name) ? "required" : "default" in schema ? `default ${JSON.stringify(schema["default"])}` : "",
    typeof schema["description"] === "string" ? schema["description"] : "",
  ]);
  if (rows.length === 0) out.text("It takes no parameters.");
  out.table(rows);
}

function typeOf({ type, enum: values, items }: JsonObject): string {
  if (Array.isArray(values)) return values.map(String).join("|");
  const one = Array.isArray(type) ? type.join("|") : typeof type === "string" ? type : "any";
  return one === "array" && typeof items === "object" ? `array of ${typeOf(items as JsonObject)}` : one;
}
