/**
 * Which tools a client is told of: all of them, or the few that a small model can keep in mind. Only what is listed changes:
 * every tool can be called by its name whatever the profile. Data and one pure function; broker and client use it.
 */
import type { ToolProfile } from "../../protocol/spec.ts";
import { findTool, REQUIRED_EITHER, type Tool, TOOL_PREFIX, TOOLS } from "./tool-table.ts";

/** Eight at most, with the parameters worth their place: what is looked up, what is kept, who one is. */
const LIGHT: Readonly<Record<string, readonly string[]>> = {
  status: [],
  search: ["query", "limit", "wing", "room"],
  get_drawer: ["drawer_id"],
  add_drawer: ["wing", "room", "content"],
  kg_query: ["entity", "as_of"],
  kg_add: ["subject", "predicate", "object", "valid_from"],
  diary_write: ["agent_name", "entry"],
  diary_read: ["agent_name", "last_n"],
};

const BY_PROFILE: Readonly<Record<ToolProfile, readonly Tool[]>> = { full: TOOLS, light: lightTools() };

export function toolsOf(profile: ToolProfile): readonly Tool[] {
  return BY_PROFILE[profile];
}

function lightTools(): Tool[] {
  return Object.entries(LIGHT).flatMap(([name, kept]) => {
    const tool = findTool(TOOL_PREFIX + name);
    if (tool === undefined) return [];
    const { properties, required = [], ...schema } = tool.inputSchema;
    const shown = Object.entries(properties).filter(([key]) => kept.includes(key));
    // What an alias stands in for is required of who does not know the alias.
    const needed = kept.filter((key) => [...required, ...(REQUIRED_EITHER[tool.name] ?? [])].includes(key));
    const inputSchema = {
      ...schema,
      properties: Object.fromEntries(shown),
      ...(needed.length > 0 && { required: needed }),
    };
    return [{ ...tool, inputSchema }];
  });
}
