import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { expect, test } from "vitest";
import { toolsOf } from "../../../src/protocol/tools/profile.ts";
import { DOORS, type RawDoor } from "../../helpers/mcp-doors.ts";
import { ask } from "../../helpers/mcp-modern.ts";
import { createTestPalace } from "../../helpers/palace.ts";

type Values = Record<string, unknown>;
type Schema = { type: unknown; properties?: Values };

/** Fields that the answer of any tool may have: a refusal, a notice, a spooled write. */
const ANY = ["error", "hint", "notice", "success", "spooled", "message"];
const FACT = { subject: "Alice", predicate: "works at", object: "Acme" };
const TASK = { project: "p", from_agent: "a", to_agent: "b", goal: "g", branch: "main", base_commit: "abcdef1" };
const EVENT = { type: "task.request", stream: "project/p", room: "delegation", from_agent: "a" };

/** Calls, in order. `$NAME` is a value from an earlier answer. Each tool gets a right call and, if it can refuse, a wrong call. */
const CALLS: readonly (readonly [tool: string, values?: Values, kept?: Readonly<Record<string, string>>])[] = [
  ["status"],
  ["search", { query: "hello" }],
  [
    "add_drawer",
    { wing: "wa", room: "auth", content: "the spare key is under the mat", source_file: "/x/one.md" },
    { ID: "drawer_id" },
  ],
  ["add_drawer", { wing: "wa", room: "auth", content: "the spare key is under the mat", source_file: "/x/one.md" }],
  ["add_drawer", { wing: "wa", room: "auth", content: "long ".repeat(600), source_file: "/x/y.md" }],
  ["add_drawer", { wing: "wb", room: "auth", content: "the other spare key" }, { OTHER: "drawer_id" }],
  ["add_drawer", { wing: "../etc", room: "r", content: "x" }],
  [
    "checkpoint",
    {
      items: [
        { wing: "wa", room: "notes", content: "Ada met Bob" },
        { wing: "wa", room: "notes", content: "Ada met Bob" },
      ],
      diary: { agent_name: "me", entry: "a day" },
    },
  ],
  ["checkpoint", { items: [{ wing: "a/b", room: "r", content: "x" }] }],
  ["status"],
  ["list_wings"],
  ["list_rooms", { wing: "wa" }],
  ["list_rooms"],
  ["get_taxonomy"],
  ["get_aaak_spec"],
  ["search", { query: "spare key", explain: true, neighbors: 1 }],
  ["search", { query: "spare key", cli_compatible: true }],
  ["search", { query: "spare key", include_media: true }],
  ["search", { query: "nothing of the kind", wing: "absent" }],
  ["check_duplicate", { content: "the spare key is under the mat" }],
  ["get_drawer", { drawer_id: "$ID" }],
  ["get_drawer", { drawer_id: "nope" }],
  ["get_drawers", { drawer_ids: ["$ID", "nope"] }],
  ["list_drawers", { limit: 2 }],
  ["update_drawer", { drawer_id: "$ID", room: "moved" }],
  ["update_drawer", { drawer_id: "$ID" }],
  ["update_drawer", { drawer_id: "nope", room: "r" }],
  ["kg_add", { ...FACT, valid_from: "2025-01-01" }],
  ["kg_add", { ...FACT, valid_from: "2025" }],
  ["kg_query", { entity: "Alice" }],
  ["kg_query", { entity: "Alice", as_of: "2025-06-01" }],
  ["kg_supersede", { subject: "Alice", predicate: "works at", old_object: "Acme", new_object: "Beta" }],
  ["kg_supersede", { subject: "Nobody", predicate: "works at", old_object: "Acme", new_object: "Beta" }],
  ["kg_invalidate", { subject: "Alice", predicate: "works at", object: "Beta" }],
  ["kg_timeline"],
  ["kg_timeline", { entity: "Alice" }],
  ["kg_stats"],
  ["traverse", { start_room: "auth" }],
  ["traverse", { start_room: "nope" }],
  ["find_tunnels"],
  ["graph_stats"],
  [
    "create_tunnel",
    { source_wing: "wa", source_room: "auth", target_wing: "wb", target_room: "auth", label: "L" },
    { TUNNEL: "id" },
  ],
  ["create_tunnel", { source_wing: "wa", source_room: "auth", target_wing: "wa", target_room: "auth" }],
  ["list_tunnels"],
  ["follow_tunnels", { wing: "wa", room: "auth" }],
  ["delete_tunnel", { tunnel_id: "$TUNNEL" }],
  ["delete_tunnel", { tunnel_id: "nope" }],
  ["list_hallways", { wing: "wa" }],
  ["delete_hallway", { hallway_id: "nope" }],
  ["diary_write", { agent_name: "Tester", entry: "dear diary", topic: "t" }],
  ["diary_read", { agent_name: "tester" }],
  ["diary_read", { agent_name: "nobody" }],
  ["hook_settings"],
  ["hook_settings", { desktop_toast: true }],
  ["memories_filed_away"],
  ["reconnect"],
  ["mine", { source: "$PROJECT", wing: "mined", dry_run: true }],
  ["mine", { source: "$PROJECT", wing: "mined" }],
  ["mine", { source: "/nowhere" }],
  ["sync", { wing: "mined" }],
  ["sync", { wing: "mined", apply: true }],
  ["delete_by_source", { source_file: "/x/y.md" }],
  ["delete_by_source", { source_file: "/x/y.md", dry_run: false }],
  ["delete_by_source", { source_file: "/x/nope.md", dry_run: false }],
  ["delete_drawers", { drawer_ids: ["$OTHER", "nope"] }],
  ["delete_drawer", { drawer_id: "$ID" }],
  ["delete_drawer", { drawer_id: "$ID" }],
  ["event_append", { ...EVENT, body: "b", metadata: { a: 1 } }, { EVENT: "event.id" }],
  ["event_append", { ...EVENT, type: "" }],
  ["task_create", { ...TASK, done: "when it is" }],
  ["task_create", { ...TASK, done: "when it is", base_commit: "zz" }],
  ["event_list", { preview: true, limit: 1 }],
  ["event_list", { since_event_id: "nope" }],
  ["event_wait", { stream: "project/p", timeout_ms: 0 }],
  ["event_wait", { stream: "project/none", timeout_ms: 1 }],
  ["event_ack", { event_id: "$EVENT", from_agent: "b", status: "claimed" }],
  ["event_ack", { event_id: "nope", from_agent: "b" }],
  ["artifact_put", { kind: "note", content: "text", created_by: "a" }, { ARTIFACT: "artifact.id" }],
  ["artifact_put", { kind: "nope", content: "text", created_by: "a" }],
  ["artifact_get", { artifact_id: "$ARTIFACT" }],
  ["artifact_get", { artifact_id: "nope" }],
  ["patch_submit", { content: "--- a\n+++ b\n", from_agent: "a", stream: "project/p" }],
  ["mesh_peers"],
];

test("every tool's answer fits the outputSchema that the list announces", async () => {
  await using palace = createTestPalace();
  const project = join(palace.home, "project");
  mkdirSync(project);
  writeFileSync(
    join(project, "readme.md"),
    "# A project\n\nAda and Bob keep their notes here, long enough to be filed.\n".repeat(20),
  );
  await palace.startBroker();
  await using door = await DOORS.stream(palace);
  const schemas = new Map(
    toolsOf("full", "2026-07-28").map((tool) => [tool.name.slice(10), tool.outputSchema as Schema]),
  );
  const known: Record<string, unknown> = { PROJECT: project };
  const wrong: string[] = [];
  for (const [tool, values = {}, kept = {}] of CALLS) {
    const value = await answerOf(door, tool, filledIn(values, known));
    for (const [name, path] of Object.entries(kept))
      known[name] = path.split(".").reduce<unknown>((part, key) => (part as Values)[key], value);
    wrong.push(...misfits(schemas.get(tool), value).map((why) => `${tool}: ${why}`));
  }
  expect(wrong).toEqual([]);
  expect(new Set(CALLS.map(([tool]) => tool))).toEqual(new Set(schemas.keys()));
});

async function answerOf(door: RawDoor, tool: string, values: Values): Promise<unknown> {
  const { result, error } = await ask(door, "tools/call", { name: `mempalace_${tool}`, arguments: values });
  if (error !== undefined) throw new Error(`${tool}: ${error.message}`);
  const { content, structuredContent } = result as { content: { text: string }[]; structuredContent: unknown };
  expect(JSON.parse(content[0]?.text ?? ""), tool).toEqual(structuredContent);
  return structuredContent;
}

function filledIn(values: Values, known: Values): Values {
  return JSON.parse(
    JSON.stringify(values).replaceAll(/\$([A-Z]+)/g, (_, name: string) => String(known[name])),
  ) as Values;
}

const validator = new AjvJsonSchemaValidator();

function misfits(schema: Schema | undefined, value: unknown): string[] {
  if (schema === undefined) return ["no schema"];
  const { valid, errorMessage } = validator.getValidator(schema as never)(value);
  if (!valid) return [errorMessage ?? "does not fit"];
  if (schema.properties === undefined) return [];
  const named = [...Object.keys(schema.properties), ...ANY];
  return Object.entries(value as Values)
    .filter(([key]) => !named.includes(key))
    .map(([key, one]) => `${key} (${Array.isArray(one) ? "array" : one === null ? "null" : typeof one}) is not named`);
}

test("the tools of the profile `outcome` answer in sentences and declare no output schema", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using door = await DOORS.stream(palace);
  const answered = await ask(door, "tools/call", { name: "add_to_memory_bank", arguments: { content: "I am Ada" } });
  expect(answered.result).not.toHaveProperty("structuredContent");
  expect(answered.result).toMatchObject({ resultType: "complete", content: [{ type: "text" }] });
  expect(toolsOf("outcome", "2026-07-28").filter((tool) => tool.outputSchema !== undefined)).toEqual([]);
});
