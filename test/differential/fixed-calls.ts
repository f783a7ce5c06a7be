/** Calls at the beginning of every run, about an empty palace, and calls at its end, which make the two palaces differ. */
import { sha256Hex } from "../../src/memory/text/text.ts";
import type { MempalaceVersion } from "../helpers/python-mempalace.ts";
import type { Call } from "./calls.ts";
import { PROJECT } from "./values.ts";

type Fixed = Omit<Call, "step">;

/** Project to mine. Its people make a hallway, its headings and quotes make closets. */
export const MINED: Readonly<Record<string, string>> = {
  "mempalace.yaml": "wing: mined\nrooms:\n  - name: engine\n",
  "engine.md": `# Harbour engine\n\nZora and Quill built the harbour engine. Zora said "it runs on copper and patience", and Quill agreed.`,
  "lantern.md": `# Lantern oil\n\nQuill fixed the lantern of the quay for Zora. Zora and Quill wrote down what the oil costs.`,
};
const HALLWAY = `hallway_mined_Quill_Zora_${sha256Hex("mined::Quill::Zora").slice(0, 8)}`;

/** Returns calls about the mined project. They come last, because 3.11 answers them from the files that it has just mined. */
function minedCalls(): Fixed[] {
  const source_file = `${PROJECT}-mined/engine.md`;
  return [
    { tool: "mine", args: { source: `${PROJECT}-mined` } },
    { tool: "list_rooms", args: { wing: "mined" } },
    ...[{ wing: "mined" }, { limit: 1 }, { offset: 1 }, { limit: "x" }, { wing: "a/b" }].map((args) => ({
      tool: "list_hallways",
      args,
    })),
    { tool: "search", args: { query: "who built the harbour engine", wing: "mined" } },
    { tool: "search", args: { query: "harbour engine", wing: "mined", cli_compatible: true } },
    { tool: "delete_by_source", args: { source_file } },
    { tool: "delete_by_source", args: { source_file, dry_run: false } },
    { tool: "delete_by_source", args: { source_file, dry_run: false } },
    { tool: "list_rooms", args: { wing: "mined" } },
    { tool: "delete_hallway", args: { hallway_id: HALLWAY } },
    { tool: "delete_hallway", args: { hallway_id: HALLWAY } },
    { tool: "list_hallways", args: { wing: "mined" } },
  ];
}

/** Returns calls that file one passage in several sources, long enough to count as a near-duplicate. */
function copies(): Fixed[] {
  const passage = `The ferry is painted ${"with the same grey that the ships of the harbour have, ".repeat(3)}each May.`;
  return [
    ...["/one/a.md", "/two/a.md"].map((source_file, at) => ({
      tool: "add_drawer",
      args: { wing: "copied", room: `r${at}`, content: passage, source_file },
    })),
    { tool: "search", args: { query: "grey ferry", wing: "copied" } },
    { tool: "search", args: { query: "grey ferry", wing: "copied", cli_compatible: true } },
  ];
}

/** Returns calls that file more text than one of our answers may contain. */
function longEvents(): Fixed[] {
  const event = { type: "long", stream: "long", room: "r", from_agent: "a", body: "y".repeat(256 * 1024) };
  return [
    ...Array.from({ length: 5 }, () => ({ tool: "event_append", args: event })),
    ...["event_list", "event_wait"].map((tool) => ({ tool, args: { stream: "long" } })),
    { tool: "event_list", args: { stream: "long", preview: true, limit: 2 } },
  ];
}

/** Returns the opening calls. calls.ts uses the ids from steps 2 and 4. */
export function opening(version: MempalaceVersion): Fixed[] {
  const long = "long drawer ".repeat(150);
  return [
    { tool: "status", args: {} },
    { tool: "search", args: { query: "hello" } },
    { tool: "add_drawer", args: { wing: "proj", room: "notes", content: "hello world" } },
    { tool: "add_drawer", args: { wing: "proj", room: "notes", content: "hello world" } },
    { tool: "add_drawer", args: { wing: "proj", room: "notes", content: long, source_file: "/x/y/long.md" } },
    { tool: "add_drawer", args: { wing: "proj", room: "notes", content: "x".repeat(100_001) } },
    { tool: "list_rooms", args: { wing: 5 } },
    { tool: "search", args: { query: 5 } },
    { tool: "search", args: { query: null } },
    { tool: "list_drawers", args: { limit: true } },
    { tool: "get_drawer", args: { drawer_id: 5 } },
    { tool: "delete_drawer", args: { drawer_id: null } },
    { tool: "update_drawer", args: { drawer_id: ["x"], wing: "w" } },
    { tool: "diary_write", args: { agent_name: "tester" } },
    { tool: "diary_write", args: {} },
    { tool: "diary_write", args: { agent_name: "tester", entry: "e", wing: "a/b" } },
    { tool: "diary_write", args: { agent_name: "writer", entry: `first ${long} last` } },
    { tool: "diary_read", args: { agent_name: "Writer" } },
    ...(version === "3.3.6"
      ? []
      : [
          { tool: "get_drawer", args: { drawer_id: "@4@" } },
          { tool: "get_drawers", args: { drawer_ids: Array.from({ length: 501 }, () => "@2@") } },
          { tool: "delete_drawers", args: { drawer_ids: Array.from({ length: 501 }, () => "@2@") } },
          { tool: "get_drawers", args: { drawer_ids: Array.from({ length: 500 }, () => "nope") } },
          { tool: "list_drawers", args: { since: "2999-01-02T00:00:00+23:00", before: "2999-01-01T23:00:00" } },
          ...[4096, 4097].map((length) => ({
            tool: "search",
            args: { query: "hello", source_file: ` ${"s".repeat(length)} ` },
          })),
        ]),
  ];
}

/** Returns calls of the graph's tools that make the two palaces differ, and calls whose first answer upstream caches. */
export function graphCalls(): Fixed[] {
  return [
    { tool: "kg_add", args: { subject: "Blank", predicate: "is", object: "open", valid_from: "", valid_to: "" } },
    { tool: "kg_query", args: { entity: "Blank" } },
    { tool: "kg_query", args: { entity: "Blank", as_of: "2025-06-01T12:00:00+02:00" } },
    { tool: "kg_add", args: { subject: "Carol Quite Unique", predicate: "is", object: "one" } },
    { tool: "kg_query", args: { entity: "Quite Unique" } },
    { tool: "add_drawer", args: { wing: "closing", room: "general", content: "a room like others" } },
    { tool: "graph_stats", args: {} },
    { tool: "find_tunnels", args: {} },
    ...["wing_alice", "é", "Proj", "two words", "a/b", "", null].map((wing_a) => ({
      tool: "find_tunnels",
      args: { wing_a },
    })),
    { tool: "find_tunnels", args: { wing_a: "wing_alice", wing_b: "é" } },
    ...["notes", "diary", "Ünïcode room", "nope", "NOTE", "my-notes", "general"].flatMap((start_room) =>
      [undefined, 0, 1, "3", 99, null].map((max_hops) => ({
        tool: "traverse",
        args: { start_room, ...(max_hops !== undefined && { max_hops }) },
      })),
    ),
  ];
}

/** Returns the closing calls. `@-n@` is the id from the answer `n` steps before. */
export function closing(version: MempalaceVersion): Fixed[] {
  const long = "grown past one row ".repeat(60);
  const split = { wing: "closing", room: "split", content: `${long}of the closing` };
  return [
    { tool: "add_drawer", args: { wing: "closing", room: "one", content: "one row" } },
    { tool: "add_drawer", args: split },
    { tool: "get_drawer", args: { drawer_id: "@-1@" } },
    { tool: "update_drawer", args: { drawer_id: "@-3@", content: long } },
    { tool: "list_rooms", args: { wing: "closing" } },
    { tool: "delete_drawer", args: { drawer_id: "@-4@" } },
    { tool: "list_rooms", args: { wing: "closing" } },
    { tool: "hook_settings", args: { silent_save: "yes" } },
    ...(version === "3.3.6"
      ? []
      : [
          {
            tool: "checkpoint",
            args: {
              items: [{ wing: "closing", room: "kept", content: "kept although the diary's wing is none" }],
              diary: { agent_name: "tester", entry: "e", wing: "a/b" },
            },
          },
          { tool: "list_rooms", args: { wing: "closing" } },
          // The project has only short files, which are not filed.
          { tool: "mine", args: { source: PROJECT } },
          { tool: "list_wings", args: {} },
          ...longEvents(),
          ...copies(),
          ...minedCalls(),
        ]),
  ];
}

/** Returns method and parameters of invalid requests. Only 3.11 answers a method that is not a string. */
export const oddRequests = (version: MempalaceVersion): readonly (readonly [method: unknown, params: unknown])[] => [
  ...(version === "3.11.0" ? [5, 0.5, true, null, [], {}].map((method) => [method, {}] as const) : []),
  ["ping", {}],
  ["tools/call", {}],
  ["tools/call", { arguments: {} }],
  ["tools/call", { name: "nope" }],
  ["tools/call", { name: "status", arguments: {} }],
  ["tools/call", { name: "mempalace_memories_filed_away", arguments: null }],
  ["tools/call", { name: "mempalace_memories_filed_away", arguments: [] }],
  ["tools/call", { name: "mempalace_memories_filed_away", arguments: "x" }],
  ["tools/call", { name: 5, arguments: {} }],
  ["tools/call", { name: "mempalace_search", arguments: { text: "a", limit: "x" } }],
  ["tools/call", { name: "mempalace_add_drawer", arguments: { wing: "w" } }],
  ["tools/call", []],
  ["resources/list", {}],
  ["no/such", {}],
  ["", {}],
];
