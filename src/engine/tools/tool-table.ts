/**
 * The tools: names, parameters and which of them write, in upstream's listing order (palace.md 2.9). Data only; reads are
 * answered in read-tools.ts, writes in apply.ts. Names and parameters are contract: test/pins holds them.
 */
import { LOG_TOOLS } from "./log-tool-table.ts";

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

export type Properties = Record<string, PropertySchema>;

export const TOOL_PREFIX = "mempalace_";

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
    "kg_query",
    "What the knowledge graph says of one person, project or thing; with as_of, what held then.",
    {
      entity: text("Whom or what to ask about"),
      as_of: text("Moment: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      direction: text("outgoing (entity → ?), incoming (? → entity) or both (default)"),
    },
    ["entity"],
    true,
  ),
  tool(
    "kg_add",
    "Record a fact, subject → predicate → object, with the time it holds. A fact that stands already is not recorded twice.",
    {
      subject: text("Who or what the fact is about"),
      predicate: text("The relation, such as works_at"),
      object: text("What it is related to"),
      valid_from: text("Since when: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      valid_to: text("Until when, of a fact that is over"),
      source_closet: text("Closet that states it"),
      source_file: text("File that states it"),
      source_drawer_id: text("Drawer that states it"),
    },
    ["subject", "predicate", "object"],
  ),
  tool(
    "kg_invalidate",
    "End a fact that no longer holds; it stays in the history.",
    {
      subject: text("Subject of the fact"),
      predicate: text("Its relation"),
      object: text("Its object"),
      ended: text("When it ended (default today)"),
    },
    ["subject", "predicate", "object"],
  ),
  tool(
    "kg_supersede",
    "Replace a fact by its successor at one moment: employer, address, version. Better than kg_invalidate and kg_add.",
    {
      subject: text("Whose value changes"),
      predicate: text("The relation"),
      old_object: text("The value so far"),
      new_object: text("The value from now on"),
      at: text("When it changed (default now)"),
    },
    ["subject", "predicate", "old_object", "new_object"],
  ),
  tool(
    "kg_timeline",
    "Facts in the order they began, of one entity or of all.",
    {
      entity: text("Only facts about it"),
      limit: { type: "integer", minimum: 1, maximum: 100, description: "Facts on the page (default 100)" },
      offset: { type: "integer", minimum: 0, description: "Facts to pass over (default 0)" },
    },
    [],
    true,
  ),
  tool("kg_stats", "How many entities and facts there are, and which relations.", {}, [], true),
  tool(
    "traverse",
    "Walk from a room to the rooms that share a wing with it, and on from there.",
    {
      start_room: text("Room to start from"),
      max_hops: { type: "integer", description: "How many steps to take, 1 to 10 (default 2)" },
    },
    ["start_room"],
  ),
  tool("find_tunnels", "Rooms that several wings have, of two given wings or of any.", {
    wing_a: text("One of the wings"),
    wing_b: text("The other"),
  }),
  tool("graph_stats", "How rooms, wings and tunnels hang together, in numbers.", {}),
  tool(
    "create_tunnel",
    "Link two rooms of different wings that belong together. The same two again: the label is replaced.",
    {
      source_wing: text("Wing of one room"),
      source_room: text("The room"),
      target_wing: text("Wing of the other room"),
      target_room: text("The other room"),
      label: text("What connects them"),
      source_drawer_id: text("A drawer in the one room"),
      target_drawer_id: text("A drawer in the other"),
    },
    ["source_wing", "source_room", "target_wing", "target_room"],
  ),
  tool("list_tunnels", "All links between rooms, or those of one wing.", { wing: WING }),
  tool("delete_tunnel", "Remove a link between rooms.", { tunnel_id: text("Id of the tunnel") }, ["tunnel_id"]),
  tool("list_hallways", "Entities of a wing that occur together, the strongest pairs first.", {
    wing: WING,
    limit: { type: "integer", minimum: 1, maximum: 500, description: "Hallways on the page (default 100)" },
    offset: { type: "integer", minimum: 0, description: "Hallways to pass over (default 0)" },
  }),
  tool("delete_hallway", "Remove a link between entities.", { hallway_id: text("Id of the hallway") }, ["hallway_id"]),
  tool(
    "follow_tunnels",
    "Where a room leads: the rooms linked to it, with the beginning of the drawers there.",
    { wing: WING, room: ROOM },
    ["wing", "room"],
  ),
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
      cli_compatible: { type: "boolean", description: "Answer with the text that `mempalace search` prints" },
      include_media: { type: "boolean", description: "Needs an EmbeddingGemma 2 palace; refused here" },
      query_task: { type: "string", enum: ["search", "code"], description: "Only search; code needs EmbeddingGemma 2" },
      context: text("Background of the question; not searched for"),
      neighbors: {
        type: "integer",
        minimum: 0,
        maximum: 5,
        description: "Slices of the same source shown before and after each result (default 0)",
      },
      now: text("ISO date it is for you, so that dates like 'last week' in the query are understood"),
      explain: { type: "boolean", description: "Tell with each result what its score is made of" },
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
    "mine",
    "File what is on the broker's machine: a project's files, or transcripts of conversations. A long one goes on in the background; the same call again has the result. What vanished is taken out by sync.",
    {
      source: text("Absolute path of the folder; of one transcript with mode convos"),
      mode: {
        type: "string",
        enum: ["projects", "convos", "extract"],
        description:
          "projects (text and code, default), convos (transcripts), extract (office documents; refused here)",
      },
      wing: text("Wing (default that of the project, else its folder's name)"),
      agent: text("Who files it (default mempalace)"),
      limit: { type: "integer", description: "Most files filed (default 0 = all)" },
      dry_run: { type: "boolean", description: "Only say what would be filed (default false)" },
      extract: {
        type: "string",
        enum: ["exchange", "general"],
        description: "Of convos: all that was said (exchange, default), or the memories in it by kind (general)",
      },
      include_ignored: {
        type: "array",
        items: { type: "string" },
        description: "Of projects: paths in it to file although they are ignored",
      },
      include_subagents: { type: "boolean", description: "Of convos: also transcripts of subagents (default false)" },
    },
    ["source"],
  ),
  tool(
    "delete_by_source",
    "Delete all drawers of one source for good. Only tells how many there are, unless dry_run is false.",
    {
      source_file: text("The source, exactly as the drawers or source_path in a result name it"),
      dry_run: { type: "boolean", description: "Only look (default true)" },
    },
    ["source_file"],
  ),
  tool(
    "sync",
    "Which drawers have a source file that is gone or ignored by git now, as the broker's machine sees it. Only tells, unless apply is true.",
    {
      project_dir: text("Only sources in this project (default: every project that drawers come from)"),
      wing: text("Only this wing"),
      apply: { type: "boolean", description: "Delete those drawers; needs wing or project_dir (default false)" },
    },
    [],
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
  ...LOG_TOOLS.map(({ name, description, properties, required }) => tool(name, description, properties, required)),
];

/**
 * Other names of parameters, tool → name → the parameter. Those of rooms and wings are what upstream's skill texts call them, so
 * agents do, too (palace.md 2.12); no schema lists them.
 */
export const ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mempalace_diary_write: { content: "entry" },
  mempalace_traverse: { room: "start_room" },
  mempalace_find_tunnels: { wing1: "wing_a", wing2: "wing_b" },
};

/** Required, under one name or the other, where the schema lists both and so can require neither. */
export const REQUIRED_EITHER: Readonly<Record<string, readonly string[]>> = { mempalace_diary_write: ["entry"] };

const BY_NAME = new Map(TOOLS.map((one) => [one.name, one]));

export function findTool(name: string): Tool | undefined {
  return BY_NAME.get(name);
}
