/**
 * The tools: names, parameters and which of them write, in upstream's listing order (palace.md 2.9). Data only; reads are
 * answered in read-tools.ts, writes in apply.ts. Names and parameters are contract: test/pins holds them.
 */
export type PropertySchema = {
  type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  description?: string;
  enum?: readonly string[];
  items?: PropertySchema;
  properties?: Record<string, PropertySchema>;
  required?: readonly string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
export type ToolInputSchema = { type: "object"; properties: Record<string, PropertySchema>; required?: string[] };
export type Tool = {
  name: string;
  description: string;
  inputSchema: ToolInputSchema;
  annotations?: { readOnlyHint: true };
};

export const TOOL_PREFIX = "mempalace_";

type Properties = Record<string, PropertySchema>;

const text = (description: string): PropertySchema => ({ type: "string", description });
const WING = text("Wing: a person or project");
const ROOM = text("Room: a topic inside the wing");
const IDS: PropertySchema = { type: "array", items: { type: "string" }, description: "Ids of drawers, 500 at most" };
const READ = { readOnlyHint: true } as const;

function tool(
  name: string,
  description: string,
  properties: Properties,
  required: string[] = [],
  readOnly = false,
): Tool {
  const inputSchema: ToolInputSchema = { type: "object", properties, ...(required.length > 0 && { required }) };
  return { name: TOOL_PREFIX + name, description, inputSchema, ...(readOnly && { annotations: READ }) };
}

export const TOOLS: readonly Tool[] = [
  tool("status", "What the memory holds: totals, wings and rooms, and how to use it. Call this first.", {}, [], true),
  tool("list_wings", "All wings with their drawer counts.", {}, [], true),
  tool("list_rooms", "Rooms with drawer counts, of one wing or of all.", { wing: WING }, [], true),
  tool("get_taxonomy", "Wing, room and drawer count as one tree.", {}, [], true),
  tool("get_aaak_spec", "The AAAK shorthand that diaries may be written in.", {}, [], true),
  tool(
    "search",
    "Search the memory by words and by meaning; returns drawers verbatim. Pass the question itself, without instructions around it.",
    {
      query: { type: "string", maxLength: 250, description: "What to look for, in a few words or one question" },
      limit: { type: "integer", minimum: 1, maximum: 100, description: "Most results (default 5)" },
      wing: WING,
      room: ROOM,
      source_file: text("Only of this source; the whole path, as source_path in a result has it"),
      since: text("Only filed on or after this ISO date or time"),
      before: text("Only filed before this ISO date or time"),
      max_distance: {
        type: "number",
        description: "Cosine distance beyond which a result is dropped (default 1.5, 0 = off)",
      },
      candidate_strategy: {
        type: "string",
        enum: ["vector", "union"],
        description: "Taken for compatibility: words and vectors are always both looked at",
      },
      cli_compatible: { type: "boolean", description: "Of the Python command line; refused here" },
      include_media: { type: "boolean", description: "Needs an EmbeddingGemma 2 palace; refused here" },
      query_task: { type: "string", enum: ["search", "code"], description: "Only search; code needs EmbeddingGemma 2" },
      context: text("Background of the question; not searched for"),
    },
    ["query"],
    true,
  ),
  tool(
    "check_duplicate",
    "Is a text like this stored already? Ask before filing.",
    {
      content: text("Text to look for"),
      threshold: { type: "number", description: "Least similarity, 0 to 1 (default 0.9)" },
    },
    ["content"],
    true,
  ),
  tool(
    "add_drawer",
    "Store text verbatim. The same text in the same place is stored once.",
    {
      wing: WING,
      room: ROOM,
      content: text("The text, kept word for word"),
      source_file: text("Where the text comes from"),
      added_by: text("Who files it (default mcp)"),
    },
    ["wing", "room", "content"],
  ),
  tool(
    "checkpoint",
    "File a session in one call: notes that are not stored yet, then a diary entry. Instead of many check_duplicate, add_drawer and diary_write.",
    {
      items: {
        type: "array",
        description: "Notes, word for word",
        items: {
          type: "object",
          properties: { wing: WING, room: ROOM, content: text("The text, kept word for word") },
          required: ["wing", "room", "content"],
        },
      },
      diary: {
        type: "object",
        description: "Diary entry written after the notes",
        properties: {
          agent_name: text("Whose diary"),
          entry: text("The entry, plain or in AAAK"),
          topic: text("Topic (default session-checkpoint)"),
          wing: text("Wing (default wing_<agent>)"),
        },
      },
      dedup_threshold: {
        type: "number",
        description: "Least similarity at which a note counts as stored (default 0.9)",
      },
      added_by: text("Who files it (default the diary's agent, else checkpoint)"),
    },
    ["items"],
  ),
  tool("delete_drawer", "Delete one drawer for good.", { drawer_id: text("Id of the drawer") }, ["drawer_id"]),
  tool(
    "delete_drawers",
    "Delete up to 500 drawers for good; a missing one does not stop the rest.",
    { drawer_ids: IDS },
    ["drawer_ids"],
  ),
  tool(
    "delete_by_source",
    "Delete all drawers of one source for good. Only tells how many there are, unless dry_run is false.",
    {
      source_file: text("The source, exactly as the drawers name it"),
      dry_run: { type: "boolean", description: "Only look (default true)" },
    },
    ["source_file"],
  ),
  tool(
    "get_drawer",
    "One drawer, whole, with its metadata.",
    { drawer_id: text("Id of the drawer") },
    ["drawer_id"],
    true,
  ),
  tool(
    "get_drawers",
    "Up to 500 drawers by their ids, each as get_drawer has it.",
    { drawer_ids: IDS },
    ["drawer_ids"],
    true,
  ),
  tool(
    "list_drawers",
    "Page through drawers, oldest first.",
    {
      wing: WING,
      room: ROOM,
      since: text("Only filed on or after this ISO date or time"),
      before: text("Only filed before this ISO date or time"),
      limit: { type: "integer", minimum: 1, maximum: 100, description: "Drawers on the page (default 20)" },
      offset: { type: "integer", minimum: 0, description: "Drawers to pass over (default 0)" },
    },
    [],
    true,
  ),
  tool(
    "update_drawer",
    "Change a drawer's text or place; what is not given stays.",
    { drawer_id: text("Id of the drawer"), content: text("New text"), wing: text("New wing"), room: text("New room") },
    ["drawer_id"],
  ),
  tool(
    "diary_write",
    "Append an entry to an agent's diary.",
    {
      agent_name: text("Whose diary"),
      entry: text("The entry, plain or in AAAK"),
      topic: text("Topic of the entry (default general)"),
      wing: text("Wing (default wing_<agent>)"),
      content: text("Another name for entry"),
    },
    ["agent_name"],
  ),
  tool(
    "diary_read",
    "An agent's latest diary entries, newest first.",
    {
      agent_name: text("Whose diary"),
      last_n: { type: "integer", minimum: 1, maximum: 100, description: "Most entries (default 10)" },
      wing: text("Only of this wing"),
    },
    ["agent_name"],
    true,
  ),
  tool("hook_settings", "Show or change how the hooks save.", {
    silent_save: { type: "boolean", description: "Save without interrupting the agent" },
    desktop_toast: { type: "boolean", description: "Show a desktop notice after a save" },
  }),
  tool("memories_filed_away", "Report what the last silent checkpoint saved, once.", {}),
  tool("reconnect", "Reopen the palace's indexes and report how they stand.", {}),
];

/** Other names of parameters, tool → name → the parameter; that one is required where the tool has an alias for it. */
export const ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mempalace_diary_write: { content: "entry" },
};

const BY_NAME = new Map(TOOLS.map((one) => [one.name, one]));

export function findTool(name: string): Tool | undefined {
  return BY_NAME.get(name);
}
