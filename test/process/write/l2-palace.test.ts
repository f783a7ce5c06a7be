import { expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceEnv, mempalaceMissing, python } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const missing = await mempalaceMissing("3.11.0");
if (missing !== undefined) console.log(`left out: a palace by l2 (${missing})`);

const MAKE = `
import chromadb, sys
client = chromadb.PersistentClient(sys.argv[1])
collection = client.create_collection("mempalace_drawers")
texts = ["the quarry is closed in winter", "the lighthouse is painted white", "bread is baked on mondays"]
ids = [f"drawer_proj_notes_{n:024d}" for n in range(3)]
collection.add(ids=ids, documents=texts, metadatas=[{"wing": "proj", "room": "notes", "chunk_index": 0} for _ in ids])`;
const SPACE = `
import chromadb, sys
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None)
print((collection.metadata or {}).get("hnsw:space"), collection.count())`;

it.skipIf(missing !== undefined)(
  "a palace with the distance `l2` is searched by cosine, reported by repair-status, and given a cosine index by a repair",
  async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    mempalaceEnv(palace.home);
    await python("3.11.0", palace.home, MAKE, [palaceDir]);
    await palace.startBroker();
    await inStep(palace);
    await using shim = await palace.shim();
    const { results } = (await shim.call("mempalace_search", { query: "when is bread baked", limit: 1 })) as {
      results: { text: string; distance: number }[];
    };
    expect(results[0]?.text).toBe("bread is baked on mondays");
    // The distance is a cosine distance, whatever measure MemPalace's index uses.
    expect(results[0]?.distance).toBeGreaterThanOrEqual(0);
    expect(results[0]?.distance).toBeLessThanOrEqual(2);

    const before = await palace.run("palace", ["repair-status"]);
    expect(before.stdout).toContain("the index of mempalace_drawers uses the distance l2, not the cosine");
    expect(before.code).toBe(1);
    const repaired = await palace.run("palace", ["repair"]);
    expect(repaired.code, repaired.stderr).toBe(0);
    const after = await palace.run("palace", ["repair-status"]);
    expect(after, after.stdout).toMatchObject({ code: 0 });
    await palace.run("palace", ["stop"]);
    expect((await python("3.11.0", palace.home, SPACE, [palaceDir])).trim()).toBe("cosine 3");
  },
);
