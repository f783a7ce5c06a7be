/**
 * The tools that a client is told of, as MCP lists them: MemPalace's, all or the few that a small model can keep in mind, or those
 * of memory that learns from outcomes. Only the list differs: every tool can be called by its name whatever the profile. Pure.
 */
import type { ToolProfile } from "../spec.ts";
import type { Properties } from "./row.ts";
import { type Tool, TOOLS } from "./table.ts";

export type ListedTool = {
  name: string;
  description: string;
  inputSchema: { type: "object"; properties: Properties; required?: readonly string[] };
  annotations?: { readOnlyHint: true };
};

const FULL = listedOf("palace");
const OUTCOME = listedOf("outcome");
const LIGHT = TOOLS.flatMap((tool) => (tool.light === undefined ? [] : [{ tool, ...tool.light }]))
  .toSorted((one, other) => one.place - other.place)
  .map(({ tool, shown }) => lightened(tool, shown));
const BY_PROFILE: Readonly<Record<ToolProfile, readonly ListedTool[]>> = {
  ...{ full: FULL, light: LIGHT, outcome: OUTCOME },
  ...{ "full+outcome": [...FULL, ...OUTCOME], "light+outcome": [...LIGHT, ...OUTCOME] },
};

export function toolsOf(profile: ToolProfile): readonly ListedTool[] {
  return BY_PROFILE[profile];
}

function listedOf(surface: Tool["surface"]): readonly ListedTool[] {
  return TOOLS.filter((tool) => tool.surface === surface).map((tool) => listed(tool, tool.properties, tool.required));
}

function listed(
  { fullName, description, isAnnounced }: Tool,
  properties: Properties,
  required: readonly string[],
): ListedTool {
  const inputSchema = { type: "object", properties, ...(required.length > 0 && { required }) } as const;
  return {
    name: fullName,
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
