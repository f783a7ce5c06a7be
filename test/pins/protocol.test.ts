/** Pins what peers of another version rely on: method names, tools and their parameters, broker.json. See README.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROMPTS } from "../../src/protocol/prompts.ts";
import { RESOURCE_TEMPLATES, RESOURCES } from "../../src/protocol/resources.ts";
import {
  AGENT_HEADER,
  IDEMPOTENCY_HEADER,
  REFUSED_HEADER,
  IDEMPOTENCY_META,
  WRITTEN_META,
  AUTHOR_META,
  PROJECT_HEADER,
  REPLAYED_META,
  TOOL_PROFILES,
  type ToolProfile,
  TOOLS_HEADER,
} from "../../src/protocol/headers.ts";
import { type BrokerFile, type Health, type MethodName } from "../../src/protocol/spec.ts";
import { toolsOf } from "../../src/protocol/tools/profile.ts";
import { TOOLS } from "../../src/protocol/tools/table.ts";
import {
  MCP_VERSIONS,
  type McpVersion,
  MODERN_MCP_VERSION,
  PROTOCOL,
  SERVER_NAME,
} from "../../src/protocol/version.ts";

const spec = ["spec", "status"]
  .map((name) => readFileSync(new URL(`../../src/protocol/${name}.ts`, import.meta.url), "utf8"))
  .join("");

/** Returns the keys of an object type from its source text, because types do not exist at run time. */
function keysOf(type: string): string[] {
  const [, body = ""] = new RegExp(`export type ${type} = \\{\\n([\\s\\S]*?)\\n\\};`).exec(spec) ?? [];
  return [...body.matchAll(/^ {2}"?([\w.]+)"?\??:/gm)].map(([, key = ""]) => key);
}

test("the list of keys in broker.json is complete", () => {
  // The compiler checks these keys against the type, and this test checks them against the type's source text.
  const keys = {
    schema: true,
    instanceId: true,
    version: true,
    protocol: true,
    pid: true,
    bootId: true,
    startedAtMs: true,
    doors: true,
    home: true,
    gate: true,
  } satisfies Record<keyof BrokerFile, true>;
  expect(keysOf("BrokerFile")).toEqual(Object.keys(keys));
});

test("the list of keys in /health is complete", () => {
  const keys = {
    status: true,
    instanceId: true,
    version: true,
    protocol: true,
    topology: true,
    door: true,
    startedAtMs: true,
    nowMs: true,
    engine: true,
    error: true,
  } satisfies Record<keyof Health, true>;
  expect(keysOf("Health")).toEqual(Object.keys(keys));
});

test("the list of our own methods is complete", () => {
  const methods = {
    "palace.status": true,
    "palace.stats": true,
    "source.list": true,
    "source.replace": true,
    "source.part": true,
    "source.remove": true,
    "conversation.replace": true,
    "closet.sources": true,
    "closet.rebuild": true,
    "closet.compressPreview": true,
    "closet.compress": true,
    "link.rebuild": true,
    "message.add": true,
    "drawer.search": true,
    "drawer.show": true,
    "drawer.places": true,
    "drawer.list": true,
    "job.start": true,
    "palace.health": true,
    "job.list": true,
    "backup.list": true,
    "job.cancel": true,
    "drawer.reveal": true,
    "memory.forgetPreview": true,
    "memory.forget": true,
    "memory.erasure": true,
    "memory.undoPreview": true,
    "memory.undo": true,
    "memory.audit": true,
    "palace.wakeUp": true,
    "turn.begin": true,
    "turn.end": true,
    "turn.list": true,
    "turn.scored": true,
    "turn.owed": true,
    "turn.judge": true,
    "book.ingest": true,
    "book.remove": true,
    "book.list": true,
    "fact.add": true,
    "fact.update": true,
    "fact.archive": true,
    "outcome.record": true,
    "outcome.score": true,
    "outcome.search": true,
    "outcome.insights": true,
    "outcome.rewrite": true,
    "outcome.stats": true,
    "outcome.why": true,
    "outcome.import": true,
    "outcome.export": true,
    "outcome.importGraph": true,
    "outcome.exportGraph": true,
    "memory.importPreview": true,
    "memory.import": true,
    "ui.link": true,
    "token.list": true,
    "token.revoke": true,
    "spool.list": true,
    "spool.sendAgain": true,
    "broker.stop": true,
  } satisfies Record<MethodName, true>;
  expect(keysOf("Methods")).toEqual(Object.keys(methods));
});

/** Returns each tool's parameters by the tool's name, with `*` after a required parameter. */
function shapesOf(profile: ToolProfile): Record<string, string> {
  const tools = toolsOf(profile).map(({ name, inputSchema: { properties, required = [] } }) => [
    name,
    Object.keys(properties)
      .map((key) => (required.includes(key) ? `${key}*` : key))
      .join(", "),
  ]);
  return Object.fromEntries(tools);
}

test("the outcome tools have Roampal's names and parameters", () => {
  expect(shapesOf("outcome")).toEqual({
    search_memory: "query, days_back, id, collections, limit, metadata, sort_by",
    add_to_memory_bank: "content*, tags, importance, confidence, always_inject",
    update_memory: "old_content*, new_content*",
    delete_memory: "content*",
    get_context_insights: "query*",
    record_response: "key_takeaway*, initial_score",
    score_memories: "outcome*, memory_scores*",
  });
});

test("the list of tools with their parameters (required ones with *) is complete", () => {
  expect(shapesOf("full")).toEqual({
    mempalace_status: "",
    mempalace_list_wings: "",
    mempalace_list_rooms: "wing",
    mempalace_get_taxonomy: "",
    mempalace_get_aaak_spec: "",
    mempalace_kg_query: "entity*, as_of, direction",
    mempalace_kg_add:
      "subject*, predicate*, object*, valid_from, valid_to, source_closet, source_file, source_drawer_id",
    mempalace_kg_invalidate: "subject*, predicate*, object*, ended",
    mempalace_kg_supersede: "subject*, predicate*, old_object*, new_object*, at",
    mempalace_kg_timeline: "entity, limit, offset",
    mempalace_kg_stats: "",
    mempalace_traverse: "start_room*, max_hops",
    mempalace_find_tunnels: "wing_a, wing_b",
    mempalace_graph_stats: "",
    mempalace_create_tunnel:
      "source_wing*, source_room*, target_wing*, target_room*, label, source_drawer_id, target_drawer_id",
    mempalace_list_tunnels: "wing",
    mempalace_delete_tunnel: "tunnel_id*",
    mempalace_list_hallways: "wing, limit, offset",
    mempalace_delete_hallway: "hallway_id*",
    mempalace_follow_tunnels: "wing*, room*",
    mempalace_search:
      "query*, limit, wing, room, source_file, since, before, max_distance, candidate_strategy, cli_compatible, " +
      "include_media, query_task, context, neighbors, now, explain, scope",
    mempalace_check_duplicate: "content*, threshold",
    mempalace_add_drawer: "wing*, room*, content*, source_file, added_by",
    mempalace_checkpoint: "items*, diary, dedup_threshold, added_by",
    mempalace_delete_drawer: "drawer_id*",
    mempalace_delete_drawers: "drawer_ids*",
    mempalace_mine: "source*, mode, wing, agent, limit, dry_run, extract, include_ignored, include_subagents",
    mempalace_delete_by_source: "source_file*, dry_run",
    mempalace_sync: "project_dir, wing, apply",
    mempalace_get_drawer: "drawer_id*",
    mempalace_get_drawers: "drawer_ids*",
    mempalace_list_drawers: "wing, room, since, before, limit, offset",
    mempalace_update_drawer: "drawer_id*, content, wing, room",
    mempalace_diary_write: "agent_name*, entry, topic, wing, content",
    mempalace_diary_read: "agent_name*, last_n, wing",
    mempalace_hook_settings: "silent_save, desktop_toast",
    mempalace_memories_filed_away: "",
    mempalace_reconnect: "",
    mempalace_event_append:
      "type*, stream*, room*, from_agent*, topic, to_agent, correlation_id, branch, base_commit, status, body, metadata, artifact_ids",
    mempalace_task_create: "project*, from_agent*, to_agent*, goal*, branch*, base_commit*, done*",
    mempalace_event_list:
      "stream, room, topic, type, to_agent, from_agent, writer, correlation_id, status, since_event_id, since_created_at, " +
      "before_event_id, limit, order, preview",
    mempalace_event_wait:
      "stream, room, topic, type, to_agent, from_agent, writer, correlation_id, status, since_event_id, since_created_at, timeout_ms, limit",
    mempalace_event_ack: "event_id*, from_agent*, status, body, topic",
    mempalace_artifact_put: "kind*, content*, created_by*, metadata",
    mempalace_artifact_get: "artifact_id*",
    mempalace_mesh_peers: "",
    mempalace_patch_submit:
      "content*, from_agent*, stream*, room, topic, to_agent, correlation_id, branch, base_commit, body, metadata",
  });
});

test("exactly upstream's read tools are annotated as read-only", () => {
  const reading = toolsOf("full")
    .filter(({ annotations }) => annotations?.readOnlyHint === true)
    .map(({ name }) => name.slice(10));
  expect(reading).toEqual([
    ...["status", "list_wings", "list_rooms", "get_taxonomy", "get_aaak_spec", "kg_query", "kg_timeline", "kg_stats"],
    ...["search", "check_duplicate", "get_drawer", "get_drawers", "list_drawers", "diary_read"],
  ]);
});

/** Returns the names of the tools that have the given annotations. */
function hinted(hints: Partial<Record<"readOnlyHint" | "destructiveHint" | "idempotentHint", boolean>>): string[] {
  const asked = Object.entries({ ...hints, openWorldHint: false });
  return toolsOf("full+outcome", "2025-11-25")
    .filter(({ annotations }) =>
      asked.every(([key, value]) => Object.entries(annotations ?? {}).some(([one, is]) => one === key && is === value)),
    )
    .map(({ name }) => name.replace("mempalace_", ""));
}

test("for newer revisions of MCP each tool is annotated as reading, deleting, replacing or repeatable", () => {
  const reading = TOOLS.filter(({ kind, role }) => kind === "read" && role === "reader").map(({ name }) => name);
  expect(hinted({ readOnlyHint: true, destructiveHint: false, idempotentHint: true })).toEqual(reading);
  expect(hinted({ readOnlyHint: false, destructiveHint: true, idempotentHint: true })).toEqual([
    ...["create_tunnel", "delete_tunnel", "delete_hallway", "delete_drawer", "delete_drawers", "mine"],
    ...["delete_by_source", "sync", "update_drawer", "delete_memory"],
  ]);
  expect(hinted({ readOnlyHint: false, destructiveHint: true, idempotentHint: false })).toEqual(["update_memory"]);
  expect(hinted({ readOnlyHint: false, destructiveHint: false, idempotentHint: true })).toEqual([
    ...["kg_add", "kg_invalidate", "add_drawer", "hook_settings"],
  ]);
  expect(hinted({})).toEqual(TOOLS.map(({ name }) => name));
});

test("a client of each MCP revision gets only the tool fields of that revision", () => {
  const fieldsOf = (revision: McpVersion): string[] => Object.keys(toolsOf("full", revision)[1] ?? {});
  expect(fieldsOf("2024-11-05")).toEqual(["name", "description", "inputSchema", "annotations"]);
  expect(fieldsOf("2025-03-26")).toEqual(["name", "description", "inputSchema", "annotations"]);
  expect(fieldsOf("2025-06-18")).toEqual(["name", "title", "description", "inputSchema", "annotations"]);
  expect(toolsOf("full", "2025-11-25")).toEqual(toolsOf("full", "2025-06-18"));
  expect(fieldsOf("2026-07-28")).toEqual([
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
  ]);
});

test("the constants of MCP 2026-07-28 are pinned: version, resource addresses and prompt names", () => {
  expect(MODERN_MCP_VERSION).toBe("2026-07-28");
  expect([...RESOURCES.map(({ uri }) => uri), ...RESOURCE_TEMPLATES.map(({ uriTemplate }) => uriTemplate)]).toEqual([
    ...["palace://wake-up", "palace://drawer/{drawer_id}"],
  ]);
  const prompts = PROMPTS.map(({ name, arguments: [given] }) => [name, given?.name]);
  expect(prompts).toEqual([
    ["wake-up", "wing"],
    ["remember", "what"],
  ]);
});

test("headers, meta keys, server name and protocol versions are pinned", () => {
  const metas = [IDEMPOTENCY_META, REPLAYED_META, WRITTEN_META, AUTHOR_META];
  expect(metas).toEqual(["palace/idempotencyKey", "palace/replayed", "palace/writtenAtMs", "palace/author"]);
  expect([IDEMPOTENCY_HEADER, AGENT_HEADER, TOOLS_HEADER, PROJECT_HEADER, REFUSED_HEADER]).toEqual([
    "idempotency-key",
    "palace-agent",
    "palace-tools",
    "palace-project",
    "palace-refused",
  ]);
  expect(TOOL_PROFILES).toEqual(["full", "light", "outcome", "full+outcome", "light+outcome"]);
  expect(SERVER_NAME).toBe("mempalace");
  expect(PROTOCOL).toEqual({ min: 1, max: 1 });
  expect(MCP_VERSIONS).toEqual(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
});
