/**
 * The tools that a client is told of, as MCP lists them: all, or the few that a small model can keep in mind. Only the
 * list differs: every tool can be called by its name whatever the profile. Pure.
 */
import type { ToolProfile } from "../spec.ts";
import type { Properties } from "./row.ts";
import { type Tool, TOOL_PREFIX, TOOLS } from "./table.ts";

export type ListedTool = {
  name: string;
  description: string;
  inputSchema: { type: "object"; properties: Properties; required?: readonly string[] };
  annotations?: { readOnlyHint: true };
};

const BY_PROFILE: Readonly<Record<ToolProfile, readonly ListedTool[]>> = {
  full: TOOLS.map((tool) => listed(tool, tool.properties, tool.required)),
  light: TOOLS.flatMap((tool) => (tool.light === undefined ? [] : [{ tool, ...tool.light }]))
    .toSorted((one, other) => one.place - other.place)
    .map(({ tool, shown }) => lightened(tool, shown)),
};

export function toolsOf(profile: ToolProfile): readonly ListedTool[] {
  return BY_PROFILE[profile];
}

function listed(
  { name, description, isAnnounced }: Tool,
  properties: Properties,
  required: readonly string[],
): ListedTool {
  const inputSchema = { type: "object", properties, ...(required.length > 0 && { required }) } as const;
  return {
    name: TOOL_PREFIX + name,
    description,
    inputSchema,
    ...(isAnnounced && { annotations: { readOnlyHint: true } }),
  };
}

function lightened(tool: Tool, shown: readonly string[]): ListedTool {
  const properties = Object.entries(tool.properties).filter(([key]) => shown.includes(key));
  // A client that does not know the alias must send the parameter it stands in for.
  const required = [...tool.required, ...(tool.requiredEither ?? [])];
  return listed(
    tool,
    Object.fromEntries(properties),
    shown.filter((key) => required.includes(key)),
  );
}
