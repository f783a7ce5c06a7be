/** Compares answers about a palace that Chroma made and that has no drawers, with and without an empty collection. */
import { describe, test } from "vitest";
import { MEMPALACE_VERSIONS, mempalaceMissing } from "../helpers/python-mempalace.ts";
import { expectAnsweredAlike, type ToolCall } from "./given-palace.ts";

const MAKE = {
  "an empty collection": `import chromadb, sys
chromadb.PersistentClient(sys.argv[1]).create_collection("mempalace_drawers", metadata={"hnsw:space": "cosine"})`,
  "no collection": "import chromadb, sys; chromadb.PersistentClient(sys.argv[1])",
};

/** Script that makes no palace. Only for invalid calls, because 3.11 reports a missing palace in other words than we do. */
const NO_PALACE = "";
const MANY = Array.from({ length: 501 }, (_, at) => `drawer_${at}`);
const REFUSED: readonly ToolCall[] = [
  ["get_drawers", { drawer_ids: MANY }],
  ["get_drawers", { drawer_ids: [] }],
  ["delete_drawers", { drawer_ids: MANY }],
  ["diary_read", { agent_name: " " }],
  ["diary_read", { agent_name: "me", wing: "a/b" }],
  ["list_rooms", { wing: "a/b" }],
  ["list_drawers", { wing: "a/b" }],
  ["list_drawers", { since: "soon" }],
  ["find_tunnels", { wing_a: "a/b" }],
  ["follow_tunnels", { wing: "a/b", room: "r" }],
  ["follow_tunnels", { wing: "w", room: " " }],
  ["search", { query: "some words", wing: "a/b" }],
  ["search", { query: "some words", since: "soon" }],
];

/** `status` comes first, because with it the real MemPalace makes a missing collection. */
const CALLS: readonly ToolCall[] = [
  ["status", {}],
  ["list_wings", {}],
  ["list_rooms", {}],
  ["get_taxonomy", {}],
  ["list_drawers", {}],
  ["diary_read", { agent_name: "me" }],
  ["diary_read", { agent_name: " " }],
  ["get_drawer", { drawer_id: "x" }],
  ["get_drawers", { drawer_ids: ["x"] }],
  ["get_drawers", { drawer_ids: "x" }],
  ["traverse", { start_room: "r" }],
  ["find_tunnels", {}],
  ["follow_tunnels", { wing: "w", room: "r" }],
  ["graph_stats", {}],
  ["search", { query: "some words" }],
  ["check_duplicate", { content: "some words" }],
  ["delete_drawer", { drawer_id: "x" }],
  ["update_drawer", { drawer_id: "x", content: "y" }],
  ["reconnect", {}],
];

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  const title = `MemPalace ${version}${missing === undefined ? "" : ` (left out: ${missing})`}`;
  describe.skipIf(missing !== undefined)(title, () => {
    for (const [kind, script] of Object.entries(MAKE))
      test(`MemPalace and we answer alike about a palace with ${kind}`, { timeout: 180_000 }, () =>
        // 3.3.6 has no get_drawers.
        expectAnsweredAlike(
          version,
          script,
          version === "3.3.6" ? CALLS.filter(([tool]) => tool !== "get_drawers") : CALLS,
        ),
      );

    if (version !== "3.3.6")
      test("MemPalace and we report invalid arguments before a missing palace", { timeout: 180_000 }, () =>
        expectAnsweredAlike(version, NO_PALACE, REFUSED),
      );
  });
}
