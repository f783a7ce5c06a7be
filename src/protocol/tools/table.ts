/**
 * The tools: one row each, in upstream's listing order (palace.md 2.9), with everything that client and broker need;
 * row.ts explains the columns. A new tool is a row here and its function in the engine's table of its kind and keeper,
 * which does not compile without it. Names and parameters are contract: test/pins holds them.
 */
import { DRAWER_TOOLS } from "./drawer-tools.ts";
import { GRAPH_TOOLS } from "./graph-tools.ts";
import { LOG_TOOLS } from "./log-tools.ts";
import { OUTCOME_TOOLS } from "./outcome-tools.ts";
import { ANNOUNCED, type Columns, READ, tool, type ToolRow, WING } from "./row.ts";

const TABLE = {
  status: tool(
    { ...ANNOUNCED, light: { place: 1, shown: [] } },
    "What the memory holds: totals, wings and rooms, and how to use it. Call this first.",
    {},
  ),
  list_wings: tool(ANNOUNCED, "All wings with their drawer counts.", {}),
  list_rooms: tool(ANNOUNCED, "Rooms with drawer counts, of one wing or of all.", { wing: WING }),
  get_taxonomy: tool(ANNOUNCED, "Wing, room and drawer count as one tree.", {}),
  get_aaak_spec: tool(ANNOUNCED, "The AAAK shorthand that diaries may be written in.", {}),
  ...GRAPH_TOOLS,
  ...DRAWER_TOOLS,
  hook_settings: tool({ ...READ, role: "agent to change" }, "Show or change how the hooks save.", {
    silent_save: { type: "boolean", description: "Save without interrupting the agent" },
    desktop_toast: { type: "boolean", description: "Show a desktop notice after a save" },
  }),
  memories_filed_away: tool({ ...READ, role: "agent" }, "Report what the last silent checkpoint saved, once.", {}),
  reconnect: tool(READ, "Reopen the palace's indexes and report how they stand.", {}),
  ...LOG_TOOLS,
  ...OUTCOME_TOOLS,
};
type Table = typeof TABLE;

export type ToolName = keyof Table;
/** The names of the tools that have these columns. */
export type ToolsWith<C extends Partial<Columns>> = { [N in ToolName]: Table[N] extends C ? N : never }[ToolName];
export type Tool = {
  [N in ToolName]: Pick<Table[N], "kind" | "keeper"> & ToolRow & { name: N; fullName: string };
}[ToolName];

/** The prefix of MemPalace's names on the wire. */
export const TOOL_PREFIX = "mempalace_";

export const TOOLS = Object.entries(TABLE).map(
  ([name, row]) => ({ ...row, name, fullName: row.surface === "palace" ? TOOL_PREFIX + name : name }) as Tool,
);

const BY_FULL_NAME = new Map<unknown, Tool>(TOOLS.map((one) => [one.fullName, one]));

/** Finds a tool by its name on the wire; undefined for anything else. */
export function findTool(fullName: unknown): Tool | undefined {
  return BY_FULL_NAME.get(fullName);
}
