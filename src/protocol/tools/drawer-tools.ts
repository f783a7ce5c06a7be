/** Rows of the tool table for search, drawers and diaries. */
import { ANNOUNCED, BROKER, integer, number, oneOf, page, ROOM, text, texts, tool, WING, WRITE } from "./row.ts";

const IDS = texts("Ids of drawers, 500 at most");

const WINDOW = {
  since: text("Only texts said (or filed, if that is unknown) on or after this ISO date or time"),
  before: text("Only texts said (or filed) before this ISO date or time"),
};

export const DRAWER_TOOLS = {
  search: tool(
    { ...ANNOUNCED, light: { place: 2, shown: ["query", "limit", "wing", "room"] } },
    "Search the memory by words and by meaning; returns drawers verbatim. Pass the question itself, without instructions around it.",
    {
      "query*": { type: "string", maxLength: 250, description: "What to look for, in a few words or one question" },
      limit: integer("Maximum results (default 5)", { minimum: 1, maximum: 100 }),
      wing: WING,
      room: ROOM,
      source_file: text("Only this source: the whole path, as in a result's source_path"),
      ...WINDOW,
      max_distance: number("Drop results beyond this cosine distance (default 1.5, 0 = off)"),
      candidate_strategy: oneOf(["vector", "union"], "For compatibility: a search always uses words and vectors"),
      cli_compatible: { type: "boolean", description: "Answer with the text that `mempalace search` prints" },
      include_media: { type: "boolean", description: "Needs an EmbeddingGemma 2 palace; refused here" },
      query_task: oneOf(["search", "code"], "Use search; code needs EmbeddingGemma 2"),
      context: text("Background of the question; not part of the search"),
      neighbors: integer("Slices of the same source shown before and after each result (default 0)", {
        minimum: 0,
        maximum: 5,
      }),
      now: text("Your current ISO date, to understand dates like 'last week' in the query"),
      explain: { type: "boolean", description: "Show the parts of each result's score" },
      scope: oneOf(
        ["prefer", "strict", "all"],
        "Without wing: prefer your project's wings (default if it is known), search only them (strict), or treat all equally",
      ),
    },
  ),
  check_duplicate: tool(ANNOUNCED, "Check whether a similar text is stored already. Call this before filing a text.", {
    "content*": text("Text to look for"),
    threshold: number("Minimum similarity, 0 to 1 (default 0.9)"),
  }),
  add_drawer: tool(
    { ...WRITE, light: { place: 4, shown: ["wing", "room", "content"] } },
    "Store text verbatim. The same text is stored only once in a room.",
    {
      "wing*": WING,
      "room*": ROOM,
      "content*": text("The text, kept word for word"),
      source_file: text("Where the text comes from"),
      added_by: text("Who files it (default mcp)"),
    },
  ),
  checkpoint: tool(
    { ...WRITE, isPrepared: true },
    "File a session in one call: notes that are not stored yet, then a diary entry. Replaces many check_duplicate, add_drawer and diary_write calls.",
    {
      "items*": {
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
      dedup_threshold: number("Minimum similarity at which a note counts as stored (default 0.9)"),
      added_by: text("Who files it (default the diary's agent, else checkpoint)"),
    },
  ),
  delete_drawer: tool(WRITE, "Delete one drawer. No tool restores it.", { "drawer_id*": text("Id of the drawer") }),
  delete_drawers: tool(WRITE, "Delete up to 500 drawers; skips unknown ids. No tool restores them.", {
    "drawer_ids*": IDS,
  }),
  mine: tool(
    { ...BROKER, role: "agent" },
    "File a folder of the broker's machine: a project's files, or transcripts of conversations. If it is still running, repeat the same call to get the result. Use sync to remove drawers of deleted files.",
    {
      "source*": text("Absolute path of the folder, or of one transcript if mode is convos"),
      mode: oneOf(
        ["projects", "convos", "extract"],
        "projects (text and code, default), convos (transcripts), extract (office documents; refused here)",
      ),
      wing: text("Wing (default: the project's, else the folder's name)"),
      agent: text("Who files it (default mempalace)"),
      limit: integer("Maximum files (default 0 = all)"),
      dry_run: { type: "boolean", description: "Only report what would be filed (default false)" },
      extract: oneOf(
        ["exchange", "general"],
        "For convos: the whole conversation (exchange, default), or its memories by kind (general)",
      ),
      include_ignored: texts("For projects: ignored paths to file anyway"),
      include_subagents: { type: "boolean", description: "For convos: also transcripts of subagents (default false)" },
    },
  ),
  delete_by_source: tool(
    { ...WRITE, spool: "unless dry", isPrepared: true },
    "Delete all drawers of one source if dry_run is false; otherwise only count them. No tool restores them.",
    {
      "source_file*": text("The source, exactly as in a drawer or in a result's source_path"),
      dry_run: { type: "boolean", description: "Only count (default true)" },
    },
  ),
  sync: tool(
    { ...WRITE, spool: "never", isPrepared: true },
    "List drawers whose source file on the broker's machine is deleted or ignored by git. Deletes them only if apply is true.",
    {
      project_dir: text("Only sources in this project (default: every project that drawers come from)"),
      wing: text("Only this wing"),
      apply: { type: "boolean", description: "Delete those drawers; needs wing or project_dir (default false)" },
    },
  ),
  get_drawer: tool(
    { ...ANNOUNCED, light: { place: 3, shown: ["drawer_id"] } },
    "Read one whole drawer with its metadata.",
    { "drawer_id*": text("Id of the drawer") },
  ),
  get_drawers: tool(ANNOUNCED, "Read up to 500 drawers by their ids, each as get_drawer shows it.", {
    "drawer_ids*": IDS,
  }),
  list_drawers: tool(ANNOUNCED, "List drawers in pages, oldest first.", {
    wing: WING,
    room: ROOM,
    ...WINDOW,
    ...page("Drawers", 20, 100),
  }),
  update_drawer: tool(WRITE, "Change a drawer's text, wing or room; omitted fields stay.", {
    "drawer_id*": text("Id of the drawer"),
    content: text("New text"),
    wing: text("New wing"),
    room: text("New room"),
  }),
  diary_write: tool(
    {
      ...WRITE,
      aliases: { content: "entry" },
      requiredEither: ["entry"],
      light: { place: 7, shown: ["agent_name", "entry"] },
    },
    "Append an entry to an agent's diary.",
    {
      "agent_name*": text("Whose diary"),
      entry: text("The entry, plain or in AAAK"),
      topic: text("Topic of the entry (default general)"),
      wing: text("Wing (default wing_<agent>)"),
      content: text("Another name for entry"),
    },
  ),
  diary_read: tool(
    { ...ANNOUNCED, light: { place: 8, shown: ["agent_name", "last_n"] } },
    "Read an agent's latest diary entries, newest first.",
    {
      "agent_name*": text("Whose diary"),
      last_n: integer("Maximum entries (default 10)", { minimum: 1, maximum: 100 }),
      wing: text("Only this wing"),
    },
  ),
};
