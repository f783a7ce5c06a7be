import { describe, expect, it } from "vitest";
import { add, createScene, quarantined, start, stop } from "../../helpers/files-scene.ts";
import { cachedChroma, dumpChroma, FOUND_BY_OWN_VECTOR_MIN } from "../../helpers/python-chroma.ts";
import { MEMPALACE_VERSIONS, mempalaceMissing, openMempalace, python } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows, status } from "../../helpers/python-rows.ts";

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: round trips, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`MemPalace ${version}`, () => {
    it("MemPalace finds, counts, lists, updates and deletes everything in our palace, and we see its changes", async () => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      await palace.startBroker();
      let ids: string[];
      {
        await using shim = await palace.shim();
        ids = await add(
          shim,
          Array.from({ length: 20 }, (_, n) => `our note ${n}, ä 日本 👩‍👩‍👧`),
        );
        await shim.call("mempalace_add_drawer", { wing: "ours", room: "long", content: "abc ".repeat(500) });
        await shim.call("mempalace_diary_write", { agent_name: "me", entry: "dear diary", topic: "days" });
        await shim.call("mempalace_update_drawer", { drawer_id: ids[1], content: "one, changed by us" });
        await inStep(palace);
        await shim.call("mempalace_delete_drawer", { drawer_id: ids[2] });
        await shim.call("mempalace_update_drawer", { drawer_id: ids[3], room: "moved" });
      }
      await inStep(palace);
      const rows = ledgerRows(palace);
      await stop(palace);

      {
        await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
        // MemPalace must count all rows even at its first call, before any process has opened the index.
        expect(await theirs.call("status")).toMatchObject({ total_drawers: rows.size });
        expect(await theirs.call("list_wings")).toMatchObject({ wings: { ours: rows.size - 1 } });
        expect(JSON.stringify(await theirs.call("list_rooms", { wing: "ours" }))).toContain("moved");
        expect(await theirs.call("get_drawer", { drawer_id: ids[1] })).toMatchObject({ content: "one, changed by us" });
        const found = await theirs.call("search", { query: "our note 7, ä 日本 👩‍👩‍👧", limit: 1 });
        expect(JSON.stringify(found)).toContain("our note 7");
        expect(JSON.stringify(await theirs.call("diary_read", { agent_name: "me" }))).toContain("dear diary");
        expect(
          await theirs.call("update_drawer", { drawer_id: ids[4], content: "four, changed by them" }),
        ).toMatchObject({
          success: true,
        });
        expect(await theirs.call("delete_drawer", { drawer_id: ids[5] })).toMatchObject({ success: true });
        expect(await theirs.call("add_drawer", { wing: "theirs", room: "r", content: "theirs" })).toMatchObject({
          success: true,
        });
      }
      const after = await dumpChroma(version, palace.home, palaceDir);
      expect([...after.keys()].filter((id) => !rows.has(id))).toHaveLength(1);
      expect([...rows.keys()].filter((id) => !after.has(id))).toEqual([ids[5]]);
      // All rows that MemPalace did not change are the same as in our ledger: text, metadata and vector.
      const [ours, theirs] = [new Map(rows), new Map(after)];
      for (const id of [ids[4] ?? "", ids[5] ?? "", ...after.keys()].filter(
        (id) => id === ids[4] || !rows.has(id) || id === ids[5],
      )) {
        ours.delete(id);
        theirs.delete(id);
      }
      expectSame(ours, theirs);

      await start(palace);
      expectSame(ledgerRows(palace), after);
      expect(quarantined(palaceDir)).toEqual([]);
    });

    it("MemPalace's writes are refused by its own lock while our broker runs, and its reads work", async () => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      await palace.startBroker();
      await using shim = await palace.shim();
      await add(shim, ["one", "two"]);
      await inStep(palace);
      await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
      const refused = await theirs
        .call("add_drawer", { wing: "w", room: "r", content: "theirs" })
        .catch((error: unknown) => ({ success: false, error: (error as Error).message }));
      expect(refused).toMatchObject({ success: false });
      expect(JSON.stringify(refused)).toMatch(/palace-devbox broker|Peer MCP writer active/);
      expect(await theirs.call("status")).toMatchObject({ total_drawers: 2 });
      expect(JSON.stringify(await theirs.call("search", { query: "two", limit: 1 }))).toContain("two");
      // MemPalace keeps the palace open, and we continue writing.
      await add(shim, ["three"]);
      await inStep(palace);
      expect((await dumpChroma(version, palace.home, palaceDir)).size).toBe(3);
      expect(quarantined(palaceDir)).toEqual([]);
    });
  });
}

const NEW = "3.11.0";
/**
 * Number of our drawers. With the 300 rows that are still in Chroma's queue, they exceed the 1,000 rows at which Chroma writes its index.
 */
const OURS = 750;

describe.skipIf((await mempalaceMissing(NEW)) !== undefined)(`MemPalace ${NEW}`, () => {
  // Tests only MemPalace 3.11.0, because 3.3.6 has the same Chroma. round-trip.test.ts tests a palace of 3.3.6, whose rows are all in the
  // queue.
  it("MemPalace makes a palace, then MemPalace and we write the palace in turns, and neither side loses a row of the other", async () => {
    await using palace = createScene();
    const { palaceDir } = palace.config.paths;
    await cachedChroma(NEW, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
    await palace.startBroker();
    await inStep(palace);
    {
      await using shim = await palace.shim();
      for (let from = 0; from < OURS; from += 150)
        await add(
          shim,
          Array.from({ length: 150 }, (_, n) => `ours ${from + n}`),
        );
      await shim.call("mempalace_update_drawer", { drawer_id: "drawer_10", content: "ten, changed by us" });
      await shim.call("mempalace_update_drawer", { drawer_id: "drawer_11", room: "moved" });
      await shim.call("mempalace_delete_drawer", { drawer_id: "drawer_12" });
    }
    await inStep(palace);
    await stop(palace);
    const rows = ledgerRows(palace);
    expect(rows.size).toBe(1_299 - 1 + OURS);
    const seen = await dumpChroma(NEW, palace.home, palaceDir);
    expectSame(rows, seen);
    // The drawer that we updated still has floats like `1.0` and booleans, not integers.
    const [types] = JSON.parse(
      await python(
        NEW,
        palace.home,
        `
import chromadb, json, sys
c = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None)
m = c.get(ids=["drawer_10"])["metadatas"][0]
g = c.get(where={"wing": "ours"}, include=["embeddings"])
near = [c.query(query_embeddings=[e], n_results=1)["distances"][0][0] < 1e-4 for e in g["embeddings"]]
print(json.dumps([[type(m["source_mtime"]).__name__, type(m["score"]).__name__, type(m["live"]).__name__, type(m["chunk_index"]).__name__, sum(near)]]))`,
        [palaceDir],
      ),
    ) as [[string, string, string, string, number]];
    expect(types.slice(0, 4)).toEqual(["float", "float", "bool", "int"]);
    expect(types[4]).toBeGreaterThan(FOUND_BY_OWN_VECTOR_MIN * OURS);

    const code = `
import chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
c = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=DefaultEmbeddingFunction())
c.upsert(ids=[f"later_{i}" for i in range(150)], documents=[f"later {i}" for i in range(150)], metadatas=[{"wing": "later", "room": "r"}] * 150)
c.update(ids=[f"drawer_{i}" for i in range(20, 50)], documents=[f"changed {i}" for i in range(20, 50)])
c.delete(ids=[f"drawer_{i}" for i in range(60, 80)])`;
    await python(NEW, palace.home, code, [palaceDir]);
    const changed = await dumpChroma(NEW, palace.home, palaceDir);
    await start(palace);
    expect((await status(palace)).adoption).toMatchObject({ state: "verified", taken: 200 });
    expectSame(ledgerRows(palace), changed);
    expect(quarantined(palaceDir)).toEqual([]);
  });
});
