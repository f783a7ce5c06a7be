/** Rows of the tool table: search, drawers and diaries. */
import { ANNOUNCED, BROKER, integer, number, oneOf, page, ROOM, text, texts, tool, WING, WRITE } from "./row.ts";

const IDS = texts("Ids of drawers, 500 at most");

const WINDOW = {
  since: text("Only said (or filed, if that is unknown) on or after this ISO date or time"),
  before: text("Only said (or filed) before this ISO date or time"),
};

export const DRAWER_TOOLS = {
  search: tool(
    { ...ANNOUNCED, light: { place: 2, shown: ["query", "limit", "wing", "room"] } },
    "Search the memory by words and by meaning; returns drawers verbatim. Pass the question itself, without instructions around it.",
    {
      "query*": { type: "string", maxLength: 250, description: "What to look for, in a few words or one question" },
      limit: integer("Most results (default 5)", { minimum: 1, maximum: 100 }),
      wing: WING,
      room: ROOM,
      source_file: text("Only of this source; the whole path, as source_path in a result has it"),
      ...WINDOW,
      max_distance: number("Cosine distance beyond which a result is dropped (default 1.5, 0 = off)"),
      candidate_strategy: oneOf(
        ["vector", "union"],
        "Taken for compatibility: words and vectors are always both looked at",
      ),
      cli_compatible: { type: "boolean", description: "Answer with the text that `mempalace search` prints" },
      include_media: { type: "boolean", description: "Needs an EmbeddingGemma 2 palace; refused here" },
      query_task: oneOf(["search", "code"], "Only search; code needs EmbeddingGemma 2"),
      context: text("Background of the question; not searched for"),
      neighbors: integer("Slices of the same source shown before and after each result (default 0)", {
        minimum: 0,
        maximum: 5,
      }),
      now: text("ISO date it is for you, so that dates like 'last week' in the query are understood"),
      explain: { type: "boolean", description: "Tell with each result what its score is made of" },
      scope: oneOf(
        ["prefer", "strict", "all"],
        "Without wing: prefer your project's wings (default where your project is known), search only them, or treat all alike",
      ),
    },
  ),
  check_duplicate: tool(ANNOUNCED, "Is a text like this stored already? Ask before filing.", {
    "content*": text("Text to look for"),
    threshold: number("Least similarity, 0 to 1 (default 0.9)"),
  }),
  add_drawer: tool(
    { ...WRITE, light: { place: 4, shown: ["wing", "room", "content"] } },
    "Store text verbatim. The same text in the same place is stored once.",
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
    "File a session in one call: notes that are not stored yet, then a diary entry. Instead of many check_duplicate, add_drawer and diary_write.",
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
      dedup_threshold: number("Least similarity at which a note counts as stored (default 0.9)"),
      added_by: text("Who files it (default the diary's agent, else checkpoint)"),
    },
  ),
  delete_drawer: tool(WRITE, "Delete one drawer for good.", { "drawer_id*": text("Id of the drawer") }),
  delete_drawers: tool(WRITE, "Delete up to 500 drawers for good; a missing one does not stop the rest.", {
    "drawer_ids*": IDS,
  }),
  mine: tool(
    { ...BROKER, role: "agent" },
    "File what is on the broker's machine: a project's files, or transcripts of conversations. A long one goes on in the background; the same call again has the result. What vanished is taken out by sync.",
    {
      "source*": text("Absolute path of the folder; of one transcript with mode convos"),
      mode: oneOf(
        ["projects", "convos", "extract"],
        "projects (text and code, default), convos (transcripts), extract (office documents; refused here)",
      ),
      wing: text("Wing (default that of the project, else its folder's name)"),
      agent: text("Who files it (default mempalace)"),
      limit: integer("Most files filed (default 0 = all)"),
      dry_run: { type: "boolean", description: "Only say what would be filed (default false)" },
      extract: oneOf(
        ["exchange", "general"],
        "Of convos: all that was said (exchange, default), or the memories in it by kind (general)",
      ),
      include_ignored: texts("Of projects: paths in it to file although they are ignored"),
      include_subagents: { type: "boolean", description: "Of convos: also transcripts of subagents (default false)" },
    },
  ),
  delete_by_source: tool(
    { ...WRITE, spool: "unless dry", isPrepared: true },
    "Delete all drawers of one source for good. Only tells how many there are, unless dry_run is false.",
    {
      "source_file*": text("The source, exactly as the drawers or source_path in a result name it"),
      dry_run: { type: "boolean", description: "Only look (default true)" },
    },
  ),
  sync: tool(
    { ...WRITE, spool: "never", isPrepared: true },
    "Which drawers have a source file that is gone or ignored by git now, as the broker's machine sees it. Only tells, unless apply is true.",
    {
      project_dir: text("Only sources in this project (default: every project that drawers come from)"),
      wing: text("Only this wing"),
      apply: { type: "boolean", description: "Delete those drawers; needs wing or project_dir (default false)" },
    },
  ),
  get_drawer: tool(
    { ...ANNOUNCED, light: { place: 3, shown: ["drawer_id"] } },
    "One drawer, whole, with its metadata.",
    { "drawer_id*": text("Id of the drawer") },
  ),
  get_drawers: tool(ANNOUNCED, "Up to 500 drawers by their ids, each as get_drawer has it.", { "drawer_ids*": IDS }),
  list_drawers: tool(ANNOUNCED, "Page through drawers, oldest first.", {
    wing: WING,
    room: ROOM,
    ...WINDOW,
    ...page("Drawers", 20, 100),
  }),
  update_drawer: tool(WRITE, "Change a drawer's text or place; what is not given stays.", {
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
    "An agent's latest diary entries, newest first.",
    {
      "agent_name*": text("Whose diary"),
      last_n: integer("Most entries (default 10)", { minimum: 1, maximum: 100 }),
      wing: text("Only of this wing"),
    },
  ),
};
