/** Compares our tools' replies with replies recorded from MemPalace 3.3.6. The function `ours` removes the intended differences. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { makeOldRecipe } from "../../helpers/old-recipe.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

type Step = [label: string, tool: string, args: Record<string, unknown>];

const { replies } = JSON.parse(
  readFileSync(new URL("../../fixtures/golden-tools-3.3.6.json", import.meta.url), "utf8"),
) as {
  replies: Record<string, unknown>;
};

const ID = "drawer_proj_notes_787077a2695de31eeabcfa27";

const FACT = { subject: "Alice", predicate: "works at", object: "Acme" };

const TUNNEL = { source_wing: "wa", source_room: "auth", target_wing: "wb", target_room: "auth", label: "L" };

const STEPS: Step[] = [
  ["status/no palace", "status", {}],
  ["search/no palace", "search", { query: "hello" }],
  ["add", "add_drawer", { wing: "proj", room: "notes", content: "hello world" }],
  ["add/again", "add_drawer", { wing: "proj", room: "notes", content: "hello world" }],
  [
    "add/long",
    "add_drawer",
    { wing: "proj", room: "notes", content: "abc ".repeat(500), source_file: "/x/y/long.md", added_by: "me" },
  ],
  ["add/bad", "add_drawer", { wing: "../etc", room: "notes", content: "x" }],
  ["status", "status", {}],
  ["list_wings", "list_wings", {}],
  ["list_rooms", "list_rooms", { wing: "proj" }],
  ["taxonomy", "get_taxonomy", {}],
  ["list_drawers", "list_drawers", { limit: 2 }],
  ["get", "get_drawer", { drawer_id: ID }],
  ["get/missing", "get_drawer", { drawer_id: "nope" }],
  ["search/none", "search", { query: "hello", wing: "absent" }],
  ["dup", "check_duplicate", { content: "hello world" }],
  ["update", "update_drawer", { drawer_id: ID, room: "moved" }],
  ["update/noop", "update_drawer", { drawer_id: ID }],
  ["update/content", "update_drawer", { drawer_id: ID, content: "hello again" }],
  ["delete", "delete_drawer", { drawer_id: ID }],
  ["delete/again", "delete_drawer", { drawer_id: ID }],
  ["kg_add", "kg_add", { ...FACT, valid_from: "2025-01-01" }],
  ["kg_add/dup", "kg_add", { ...FACT, valid_from: "2025-01-01" }],
  ["kg_query", "kg_query", { entity: "Alice" }],
  ["kg_invalidate", "kg_invalidate", { ...FACT, ended: "2025-06-01" }],
  ["kg_query/as_of end day", "kg_query", { entity: "Alice", as_of: "2025-06-01" }],
  ["kg_query/as_of noon", "kg_query", { entity: "Alice", as_of: "2025-06-01T12:00:00Z" }],
  ["kg_query/as_of before", "kg_query", { entity: "Alice", as_of: "2025-05-31" }],
  ["kg_timeline", "kg_timeline", {}],
  ["kg_stats", "kg_stats", {}],
  ["kg_add/bad date", "kg_add", { ...FACT, valid_from: "2025" }],
  ["diary_write", "diary_write", { agent_name: "Tester", entry: "dear diary", topic: "t" }],
  ["diary_read", "diary_read", { agent_name: "tester" }],
  ["diary_read/none", "diary_read", { agent_name: "nobody" }],
  ["diary_write/bad wing", "diary_write", { agent_name: "tester", entry: "x", wing: "a/b" }],
  ["add room 2", "add_drawer", { wing: "wa", room: "auth", content: "one" }],
  ["add room 3", "add_drawer", { wing: "wb", room: "auth", content: "two" }],
  ["traverse", "traverse", { start_room: "auth", max_hops: 1 }],
  ["traverse/missing", "traverse", { start_room: "nope" }],
  ["find_tunnels", "find_tunnels", {}],
  ["graph_stats", "graph_stats", {}],
  ["create_tunnel", "create_tunnel", TUNNEL],
  ["list_tunnels", "list_tunnels", {}],
  ["follow_tunnels", "follow_tunnels", { wing: "wa", room: "auth" }],
  ["delete_tunnel", "delete_tunnel", { tunnel_id: "8674d859d20b8155" }],
  ["hook_settings", "hook_settings", {}],
  ["memories_filed_away", "memories_filed_away", {}],
  ["reconnect", "reconnect", {}],
  ["unknown tool", "nope", {}],
  ["unknown param", "status", { bogus: 1 }],
  ["missing param", "search", {}],
  ["coerce", "list_drawers", { limit: "1", offset: 0.0 }],
  ["bad int", "list_drawers", { limit: null }],
];

describe("the tools against MemPalace 3.3.6", () => {
  it("our tools answer a whole session with the same keys, counts, ids and error texts as MemPalace 3.3.6", async () => {
    await using palace = createTestPalace();
    await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
    await makeOldRecipe(palace);
    const client = await palace.client();
    await expect
      .poll(async () => (await client.call("palace.status", {})).search.modelState, { timeout: 20_000 })
      .toBe("ready");
    const ids = new Map<string, string>();
    const translate = (text: string): string =>
      [...ids].reduce((result, [theirs, mine]) => result.replaceAll(mine, theirs), text);
    const raw = await palace.shim();
    for (const [label, tool, args] of STEPS) {
      const sent = {
        ...args,
        ...(typeof args["drawer_id"] === "string" && { drawer_id: ids.get(args["drawer_id"]) ?? args["drawer_id"] }),
      };
      const reply: Record<string, unknown> = await raw
        .call(`mempalace_${tool}`, sent)
        .catch((error: Error) => ({ failed: error.message }));
      const theirs = replies[label] as Record<string, unknown>;
      if (
        typeof theirs["drawer_id"] === "string" &&
        typeof reply["drawer_id"] === "string" &&
        label.startsWith("add")
      ) {
        expect(reply["drawer_id"]).toMatch(/_[0-9a-f]{24}$/);
        ids.set(theirs["drawer_id"], reply["drawer_id"]);
      }
      if ("failed" in reply)
        expect(reply["failed"], label).toBe(
          (theirs["data"] as { message?: string } | undefined)?.message ?? theirs["message"],
        );
      else
        expect(ours(JSON.parse(translate(JSON.stringify(reply))) as Record<string, unknown>), label).toEqual(
          ours(theirs),
        );
    }
    await raw.close();
    client.close();
  });
});

/** Keys of replies that 3.11 and we have, but 3.3.6 does not have. */
const ADDED: readonly string[] = [
  // Notices that our search adds to its answer.
  ...["nothing_found", "weak_match", "weak", "notice", "phrases", "outdated", "near_duplicates", "same_exchange"],
  ...["superseded_by", "spread"],
  ...["closets_deleted", "deleted_ids", "chunks_deleted"],
  ...["active_facts", "historical_facts", "future_facts"],
  ...["total_room_instances", "passive_tunnel_rooms", "explicit_tunnels", "total_connections"],
];

/** Removes the parts that may differ: the wording of texts that explain a tool, times, and keys that 3.11 and we have. */
function ours(reply: Record<string, unknown>): unknown {
  const { total: _total, limit: _limit, offset: _offset, ...unpaged } = reply;
  const masked = JSON.stringify("timeline" in reply ? unpaged : reply, (key, value: unknown) => {
    if (["id_recipe", "last_modified", ...ADDED].includes(key)) return undefined;
    if (key === "" && (value as object | null) !== null && "error" in (value as object))
      return { ...(value as object), results: undefined };
    if (key === "drawers" && Array.isArray(value)) return value.map((row: object) => ({ ...row, metadata: undefined }));
    if (key === "hint" && String(value).startsWith("no wing ")) return undefined;
    if (key === "filters") return pick(value as Record<string, unknown>, ["wing", "room"]);
    if (key === "as_of" && typeof value === "string") return value.replace(/^.*Z$/, "<TIME>Z");
    if (key === "triple_id") return String(value).replace(/[0-9a-f]{12}$/, "<HASH>");
    if (["protocol", "aaak_dialect"].includes(key)) return typeof value;
    if (["created_at", "last_activated"].includes(key)) return String(value).replace(/^.*\+00:00$/, "<TIME>+00:00");
    if (["filed_at", "timestamp", "date"].includes(key)) return value === null ? null : "<TIME>";
    return value;
  });
  return JSON.parse(masked.replaceAll(/diary_wing_tester_\d{8}_\d{12}/g, "diary_wing_tester_<STAMP>"));
}

function pick(from: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, from[key]]));
}
