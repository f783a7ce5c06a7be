/** Lists the tools of a profile. A client may also call other tools. */
import type { ToolProfile } from "../headers.ts";
import { MODERN_MCP_VERSION, type McpVersion } from "../version.ts";
import { ANNOUNCED, type Hints, outputSchema } from "./announced.ts";
import type { Properties } from "./row.ts";
import { findTool, type Tool, TOOLS } from "./table.ts";

export type ListedTool = {
  name: string;
  title?: string;
  description: string;
  inputSchema: { type: "object"; properties: Properties; required?: readonly string[] };
  outputSchema?: ReturnType<typeof outputSchema>;
  annotations?: { readOnlyHint: true } | Hints;
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

/** Returns the tools of a profile, each with the fields that the MCP revision has. */
export function toolsOf(profile: ToolProfile, revision: McpVersion = "2024-11-05"): readonly ListedTool[] {
  if (revision === "2024-11-05") return BY_PROFILE[profile];
  return BY_PROFILE[profile].map((tool) => announced(tool, revision));
}

/** Adds the fields of newer revisions: hints since 2025-03-26, titles since 2025-06-18. */
function announced(tool: ListedTool, revision: McpVersion): ListedTool {
  const row = findTool(tool.name);
  if (row === undefined) return tool;
  const [title, annotations, output] = ANNOUNCED[row.name];
  const { name, description, inputSchema } = tool;
  return {
    name,
    ...(revision >= "2025-06-18" && { title }),
    description,
    inputSchema,
    // Only clients of this revision get `structuredContent`, which this schema describes.
    ...(revision === MODERN_MCP_VERSION && output !== undefined && { outputSchema: outputSchema(output) }),
    annotations,
  };
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
  // The light list shows no alias, so it requires the parameter under its proper name.
  const required = [...tool.required, ...(tool.requiredEither ?? [])];
  return listed(
    tool,
    Object.fromEntries(properties),
    shown.filter((key) => required.includes(key)),
  );
}
