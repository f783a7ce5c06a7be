import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { graphDifferences } from "../../helpers/graph-differences.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { MEMPALACE_VERSIONS, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";

type Reply = Record<string, unknown>;
type Fact = { subject: string; predicate: string; object: string; valid_from: string | null; valid_to: string | null };

const missing = new Map(
  await Promise.all(MEMPALACE_VERSIONS.map(async (version) => [version, await mempalaceMissing(version)] as const)),
);

/** Resolves when upstream's files equal the ledger. */
async function synced(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  await expect
    .poll(async () => (await client.call("palace.status", {})).graph, { timeout: 20_000 })
    .toMatchObject({
      state: "synced",
      lag: 0,
    });
  client.close();
  expect(graphDifferences(palace.config.paths)).toEqual([]);
}

const shown = (reply: Reply): string[] =>
  (reply["facts"] as Fact[]).map(
    (fact) => `${fact.subject} ${fact.predicate} ${fact.object} ${fact.valid_from ?? "-"} ${fact.valid_to ?? "-"}`,
  );

describe.each(MEMPALACE_VERSIONS)("the knowledge graph and MemPalace %s", (version) => {
  it.skipIf(missing.get(version) !== undefined)(
    "MemPalace and we read each other's facts, and neither overwrites the other's facts",
    async () => {
      await using palace = createTestPalace();
      await palace.startBroker();
      const shim = await palace.shim();
      const ours = (tool: string, args: Reply = {}): Promise<Reply> => shim.call(`mempalace_${tool}`, args);
      await ours("kg_add", { subject: "Zoë O'Brien", predicate: "works at", object: "Acme", valid_from: "2025-01-01" });
      await ours("kg_add", { subject: "Acme", predicate: "based_in", object: "Linz" });
      const employer = { subject: "Zoë O'Brien", predicate: "works at", old_object: "Acme", new_object: "Globex" };
      await ours("kg_supersede", { ...employer, at: "2025-06-01" });
      await ours("kg_add", { subject: "Zoë O'Brien", predicate: "likes", object: "skiing" });
      const skiing = { subject: "zoë o'brien", predicate: "Likes", object: "Skiing", ended: "2025-03-04T05:06:07Z" };
      await ours("kg_invalidate", skiing);
      await synced(palace);

      {
        await using python = await openMempalace(version, { home: palace.home });
        for (const entity of ["Zoë O'Brien", "acme", "Linz", "nobody"]) {
          const theirs = await python.call("kg_query", { entity });
          expect(shown(await ours("kg_query", { entity })), entity).toEqual(shown(theirs));
        }
        for (const as_of of ["2025-02-01", "2025-03-04T05:06:06Z", "2025-05-31T23:59:59Z", "2025-06-02"]) {
          const question = { entity: "Zoë O'Brien", as_of };
          expect(shown(await ours("kg_query", question)), as_of).toEqual(
            shown(await python.call("kg_query", question)),
          );
        }
        expect(await ours("kg_stats")).toEqual(await python.call("kg_stats"));
        const { timeline } = await python.call("kg_timeline");
        expect((await ours("kg_timeline"))["timeline"]).toEqual(timeline);

        // MemPalace writes while our broker runs. Our next answer has these writes.
        await python.call("kg_add", { subject: "Acme", predicate: "makes", object: "anvils", source_file: "/a/b" });
        await python.call("kg_invalidate", {
          subject: "Acme",
          predicate: "based_in",
          object: "Linz",
          ended: "2025-07-01",
        });
        expect(shown(await ours("kg_query", { entity: "Acme", direction: "outgoing" }))).toEqual([
          "Acme based_in Linz - 2025-07-01",
          "Acme makes anvils - -",
        ]);
        // We end a fact, then MemPalace ends it with a later date. Both sides keep the first date.
        await ours("kg_invalidate", { subject: "Acme", predicate: "makes", object: "anvils", ended: "2025-08-01" });
        await synced(palace);
        await python.call("kg_invalidate", {
          subject: "Acme",
          predicate: "makes",
          object: "anvils",
          ended: "2025-09-01",
        });
        expect(shown(await python.call("kg_query", { entity: "anvils" }))).toEqual(["Acme makes anvils - 2025-08-01"]);
      }

      await palace.run("palace", ["stop"]);
      {
        await using python = await openMempalace(version, { home: palace.home });
        await python.call("kg_add", { subject: "Linz", predicate: "lies_in", object: "Austria" });
        await python.call("kg_invalidate", { subject: "Zoë O'Brien", predicate: "works_at", object: "Globex" });
      }
      await palace.run("palace", ["start"]);
      expect(shown(await ours("kg_query", { entity: "Austria" }))).toEqual(["Linz lies_in Austria - -"]);
      expect((await ours("kg_stats"))["current_facts"]).toBe(1);
      await ours("kg_add", { subject: "Austria", predicate: "borders", object: "Italy" });
      await shim.close();
      // A stopped broker leaves MemPalace's file up to date.
      await palace.run("palace", ["stop"]);
      expect(graphDifferences(palace.config.paths)).toEqual([]);
    },
    120_000,
  );

  it.skipIf(missing.get(version) !== undefined)(
    "MemPalace and we share a graph that MemPalace made before our ledger existed",
    async () => {
      await using palace = createTestPalace();
      {
        await using python = await openMempalace(version, { home: palace.home });
        for (let index = 0; index < 30; index++)
          await python.call("kg_add", { subject: `Node ${index}`, predicate: "next", object: `Node ${index + 1}` });
        await python.call("kg_invalidate", {
          subject: "Node 3",
          predicate: "next",
          object: "Node 4",
          ended: "2024-01-01",
        });
      }
      expect(existsSync(palace.config.paths.graphFile)).toBe(true);
      await palace.startBroker();
      const shim = await palace.shim();
      const stats = { entities: 31, triples: 30, current_facts: 29, expired_facts: 1, relationship_types: ["next"] };
      expect(await shim.call("mempalace_kg_stats", {})).toEqual(stats);
      const fact = { subject: "node 7", predicate: "NEXT", object: "node 8" };
      const { triple_id } = await shim.call("mempalace_kg_add", fact);
      expect(triple_id).toMatch(/^t_node_7_next_node_8_[0-9a-f]{12}$/);
      expect(await shim.call("mempalace_kg_stats", {})).toEqual(stats);
      expect(graphDifferences(palace.config.paths)).toEqual([]);
      await shim.close();
    },
    120_000,
  );

  it.skipIf(missing.get(version) !== undefined)(
    "MemPalace and we share tunnels and hallways",
    async () => {
      await using palace = createTestPalace();
      const { hallwaysFile, tunnelsFile, settingsDir } = palace.config.paths;
      // 3.11 recognises its home folder by this file.
      mkdirSync(settingsDir, { recursive: true });
      writeFileSync(join(settingsDir, "config.json"), "{}");
      await palace.startBroker();
      const shim = await palace.shim();
      for (const [wing, room] of [
        ["wa", "auth"],
        ["My-Wing", "users"],
      ])
        await shim.call("mempalace_add_drawer", { wing, room, content: `in ${room}` });
      const ends = { source_wing: "wa", source_room: "auth", target_wing: "My-Wing", target_room: "users" };
      const tunnel = await shim.call("mempalace_create_tunnel", { ...ends, label: "Zoë → é" });
      await synced(palace);
      const hallway = {
        id: "hallway_wa_A_B_00000000",
        wing: "wa",
        entity_a: "A",
        entity_b: "B",
        co_occurrence_count: 3,
      };
      writeFileSync(
        hallwaysFile,
        JSON.stringify({ schema_version: 1, hallways: [{ ...hallway, id: "other" }, hallway] }),
      );

      await using python = await openMempalace(version, { home: palace.home });
      expect(await python.call("list_tunnels", { wing: "my_wing" })).toEqual([tunnel]);
      // While we have its palace lock, 3.11 refuses to make tunnels, and 3.3.6 does not. Without a Chroma palace neither version checks
      // that the rooms exist.
      const isRefused = version !== "3.3.6";
      if (isRefused) await palace.run("palace", ["stop"]);
      const more = { source_wing: "My-Wing", source_room: "users", target_wing: "wb", target_room: "login" };
      const theirs = await python.call("create_tunnel", { ...more, label: "theirs" });
      await python.call("delete_tunnel", { tunnel_id: tunnel["id"] });
      if (isRefused) await palace.run("palace", ["start"]);
      expect(await shim.call("mempalace_list_tunnels", {})).toEqual([theirs]);
      expect(await shim.call("mempalace_follow_tunnels", { wing: "my_wing", room: "users" })).toMatchObject([
        { direction: "outgoing", connected_wing: "wb", connected_room: "login", label: "theirs" },
      ]);
      expect(await shim.call("mempalace_delete_hallway", { hallway_id: "other" })).toEqual({ deleted: true });
      await shim.call("mempalace_create_tunnel", ends);
      await synced(palace);
      expect(await shim.call("mempalace_list_hallways", {})).toMatchObject({ hallways: [hallway], total: 1 });
      const mine = (await shim.call("mempalace_list_tunnels", {})) as unknown;
      expect(await python.call("list_tunnels")).toEqual(mine);
      expect(JSON.parse(readFileSync(tunnelsFile, "utf8"))).toEqual(mine);
      if (version !== "3.3.6")
        expect(await python.call("list_hallways")).toMatchObject({ hallways: [hallway], total: 1 });
      await shim.close();
    },
    120_000,
  );
});
