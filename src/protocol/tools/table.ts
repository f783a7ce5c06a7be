/** Table of the tools in upstream's order (palace.md 2.9). test/pins checks that names and parameters do not change. */
import { DRAWER_TOOLS } from "./drawer-tools.ts";
import { GRAPH_TOOLS } from "./graph-tools.ts";
import { LOG_TOOLS } from "./log-tools.ts";
import { OUTCOME_TOOLS } from "./outcome-tools.ts";
import { ANNOUNCED, type Columns, READ, tool, type ToolRow, WING } from "./row.ts";

const TABLE = {
  status: tool(
    { ...ANNOUNCED, light: { place: 1, shown: [] } },
    "Read the memory's totals, wings and rooms, and how to use it. Call this first.",
    {},
  ),
  list_wings: tool(ANNOUNCED, "List all wings with their drawer counts.", {}),
  list_rooms: tool(ANNOUNCED, "List rooms with drawer counts, of one wing or of all.", { wing: WING }),
  get_taxonomy: tool(ANNOUNCED, "Read wings, rooms and drawer counts as one tree.", {}),
  get_aaak_spec: tool(ANNOUNCED, "Read the AAAK shorthand that diaries may use.", {}),
  ...GRAPH_TOOLS,
  ...DRAWER_TOOLS,
  hook_settings: tool({ ...READ, role: "agent to change" }, "Show or change how the hooks save.", {
    silent_save: { type: "boolean", description: "Save without interrupting the agent" },
    desktop_toast: { type: "boolean", description: "Show a desktop notice after a save" },
  }),
  memories_filed_away: tool({ ...READ, role: "agent" }, "Report once what the last silent checkpoint saved.", {}),
  reconnect: tool(READ, "Reopen the palace's indexes and report their state.", {}),
  ...LOG_TOOLS,
  ...OUTCOME_TOOLS,
};
type Table = typeof TABLE;

export type ToolName = keyof Table;
export type ToolsWith<C extends Partial<Columns>> = { [N in ToolName]: Table[N] extends C ? N : never }[ToolName];
export type Tool = {
  [N in ToolName]: Pick<Table[N], "kind" | "keeper"> & ToolRow & { name: N; fullName: string };
}[ToolName];

export const TOOL_PREFIX = "mempalace_";

export const TOOLS = Object.entries(TABLE).map(
  ([name, row]) => ({ ...row, name, fullName: row.surface === "palace" ? TOOL_PREFIX + name : name }) as Tool,
);

const BY_FULL_NAME = new Map<unknown, Tool>(TOOLS.map((one) => [one.fullName, one]));

export function findTool(fullName: unknown): Tool | undefined {
  return BY_FULL_NAME.get(fullName);
}
