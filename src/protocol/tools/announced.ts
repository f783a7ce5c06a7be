/** Title, effects and answer fields of each tool, for newer MCP revisions. A host may ask the user before calls with certain effects. */
import type { ToolName } from "./table.ts";

export type Hints = {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};
type FieldType = "string" | "integer" | "number" | "boolean" | "array" | "object";
/** Space-separated names of the answer's fields, by JSON type. A field under `string|null` may have either type. */
type Fields = Partial<Record<FieldType | `${FieldType}|null`, string>>;
export type Announced = readonly [title: string, hints: Hints, output?: Fields | "list"];

/** `openWorldHint` is always false, because no tool has an effect outside the memory. */
const hints = (readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean): Hints => ({
  ...{ readOnlyHint, destructiveHint, idempotentHint, openWorldHint: false },
});
const READS = hints(true, false, true);
const ADDS = hints(false, false, false);
/** Hints of a tool that adds something. Repeating the call has no further effect. */
const ADDS_ONCE = hints(false, false, true);
/** Hints of a tool that removes or replaces something. */
const CHANGES = hints(false, true, false);
const CHANGES_ONCE = hints(false, true, true);

const EVENT = { boolean: "success", object: "event" } as const;
const EVENTS = { array: "events", integer: "count", boolean: "more timed_out", string: "note" } as const;

export const ANNOUNCED: Readonly<Record<ToolName, Announced>> = {
  status: [
    "Memory status",
    READS,
    { integer: "total_drawers", object: "wings rooms", string: "protocol aaak_dialect" },
  ],
  list_wings: ["List wings", READS, { object: "wings" }],
  list_rooms: ["List rooms", READS, { string: "wing", object: "rooms" }],
  get_taxonomy: ["Wings and rooms as a tree", READS, { object: "taxonomy" }],
  get_aaak_spec: ["AAAK shorthand", READS, { string: "aaak_spec" }],
  kg_query: [
    "Ask for facts",
    READS,
    {
      string: "entity",
      "string|null": "as_of",
      array: "facts active_facts historical_facts future_facts",
      integer: "count",
    },
  ],
  kg_add: ["Record a fact", ADDS_ONCE, { boolean: "success", string: "triple_id fact" }],
  kg_invalidate: ["End a fact", ADDS_ONCE, { boolean: "success", string: "fact ended" }],
  kg_supersede: ["Replace a fact", ADDS, { boolean: "success", string: "triple_id fact superseded" }],
  kg_timeline: [
    "Timeline of facts",
    READS,
    { string: "entity", array: "timeline", integer: "count total limit offset" },
  ],
  kg_stats: [
    "Count facts",
    READS,
    { integer: "entities triples current_facts expired_facts", array: "relationship_types" },
  ],
  traverse: ["Walk between rooms", READS, "list"],
  find_tunnels: ["Find shared rooms", READS, "list"],
  graph_stats: [
    "Count rooms and tunnels",
    READS,
    {
      integer:
        "total_rooms tunnel_rooms total_edges total_room_instances passive_tunnel_rooms explicit_tunnels total_connections",
      object: "rooms_per_wing",
      array: "top_tunnels",
    },
  ],
  create_tunnel: [
    "Link two rooms",
    CHANGES_ONCE,
    {
      string: "id label kind created_at last_activated",
      object: "source target",
      number: "strength stability",
      integer: "access_count",
    },
  ],
  list_tunnels: ["List tunnels", READS, "list"],
  delete_tunnel: ["Remove a tunnel", CHANGES_ONCE, { string: "deleted" }],
  list_hallways: ["List hallways", READS, { array: "hallways", integer: "total limit offset count" }],
  delete_hallway: ["Remove a hallway", CHANGES_ONCE, { boolean: "deleted" }],
  follow_tunnels: ["Follow tunnels", READS, "list"],
  search: [
    "Search the memory",
    READS,
    {
      string: "query cli_output vector_disabled_reason fallback fallback_reason",
      object: "filters reranked scope",
      integer: "total_before_filter",
      array: "results",
      boolean: "nothing_found weak_match vector_disabled distinct_results_truncated",
    },
  ],
  check_duplicate: [
    "Look for a duplicate",
    READS,
    { boolean: "is_duplicate vector_disabled", string: "vector_disabled_reason", array: "matches" },
  ],
  add_drawer: [
    "Store a text",
    ADDS_ONCE,
    { boolean: "success", string: "drawer_id wing room reason", integer: "chunks", array: "chunk_ids" },
  ],
  checkpoint: ["File a session", ADDS, { array: "added duplicates errors", object: "diary" }],
  delete_drawer: [
    "Delete a drawer",
    CHANGES_ONCE,
    { boolean: "success", string: "drawer_id", array: "deleted_ids", integer: "chunks_deleted closets_deleted" },
  ],
  delete_drawers: ["Delete drawers", CHANGES_ONCE, { array: "results", integer: "count deleted errors" }],
  mine: [
    "Mine a folder",
    CHANGES_ONCE,
    {
      boolean: "success dry_run",
      string: "mode status wing output",
      integer: "files filed unchanged drawers skipped done total",
    },
  ],
  delete_by_source: [
    "Delete a source's drawers",
    CHANGES_ONCE,
    {
      boolean: "success dry_run",
      string: "source_file",
      integer: "match_count closet_match_count deleted closets_deleted",
      array: "sample",
    },
  ],
  sync: [
    "Sync with source files",
    CHANGES_ONCE,
    {
      integer: "scanned kept gitignored missing unresolved no_source out_of_scope removed_drawers removed_closets",
      boolean: "dry_run",
      object: "by_source unresolved_by_source",
    },
  ],
  get_drawer: [
    "Read a drawer",
    READS,
    { string: "drawer_id content wing room", object: "metadata", integer: "chunks", array: "chunk_ids" },
  ],
  get_drawers: ["Read drawers", READS, { array: "results", integer: "count errors" }],
  list_drawers: ["List drawers", READS, { array: "drawers", integer: "total count offset limit" }],
  update_drawer: [
    "Change a drawer",
    CHANGES_ONCE,
    { boolean: "success noop", string: "drawer_id wing room", integer: "closets_deleted" },
  ],
  diary_write: [
    "Write to the diary",
    ADDS,
    { boolean: "success", string: "entry_id agent topic timestamp", integer: "chunks" },
  ],
  diary_read: ["Read the diary", READS, { string: "agent message", array: "entries", integer: "total showing" }],
  hook_settings: ["Hook settings", ADDS_ONCE, { boolean: "success", object: "settings", array: "updated" }],
  memories_filed_away: [
    "Last silent checkpoint",
    ADDS,
    { string: "status message", integer: "count", "string|null": "timestamp" },
  ],
  reconnect: [
    "Reopen the indexes",
    READS,
    { boolean: "success vector_disabled", string: "message vector_disabled_reason", integer: "drawers" },
  ],
  event_append: ["Append an event", ADDS, EVENT],
  task_create: ["Give a task", ADDS, { boolean: "success", object: "task", string: "handoff" }],
  event_list: ["List events", READS, EVENTS],
  event_wait: ["Wait for an event", READS, EVENTS],
  event_ack: ["Answer an event", ADDS, EVENT],
  artifact_put: ["Store an artifact", ADDS, { boolean: "success", object: "artifact" }],
  artifact_get: ["Read an artifact", READS, { object: "artifact" }],
  mesh_peers: [
    "Copies of the palace",
    READS,
    {
      object: "self origin_profiles estate_source",
      array: "peers unnamed_origins",
      integer: "sync_interval_s",
    },
  ],
  patch_submit: ["Hand over a patch", ADDS, { boolean: "success", object: "artifact event" }],
  // The tools below have no list of answer fields, because they answer in sentences.
  search_memory: ["Search the memory", READS],
  add_to_memory_bank: ["Store a fact", ADDS],
  update_memory: ["Correct a fact", CHANGES],
  delete_memory: ["Remove a fact", CHANGES_ONCE],
  get_context_insights: ["Read about a topic", READS],
  record_response: ["Store a takeaway", ADDS],
  score_memories: ["Score memories", ADDS],
};

type OutputSchema = { type: "object" | readonly string[]; properties?: Record<string, { type: string | string[] }> };

/** Returns the schema of a tool's answer. No field is required, because the answer of a refused call has only `success` and `error`. */
export function outputSchema(output: Fields | "list"): OutputSchema {
  // A refused call answers with an object instead of a list.
  if (output === "list") return { type: ["array", "object"] };
  const properties = Object.entries(output).flatMap(([type, names]) =>
    names.split(" ").map((name) => [name, { type: type.includes("|") ? type.split("|") : type }] as const),
  );
  return { type: "object", properties: Object.fromEntries(properties) };
}
