import { describe, expect, it } from "vitest";
import { doctor, file, FOUND_MAX_MS, ledgerIds, OURS, setChromaScene } from "../../helpers/foreign-scene.ts";
import { mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";
import { status } from "../../helpers/python-rows.ts";

/** Number of drawers: more than Chroma's sync threshold of 1,000, so that Chroma has an index on disk. */
const INDEXED = 1_150;
/** Minimum number of rows that lose their index entry: the first 1,000 records, minus one deletion and the row that it deleted. */
const INDEXED_MIN = 998;
const OLD = "3.3.6";

describe.skipIf((await mempalaceMissing(OLD)) !== undefined)(`a foreign MemPalace ${OLD} that only reads`, () => {
  // 3.3.6 moves the index folder away when it opens a palace whose index a newer Chroma wrote, with or without the lock.
  it("the broker notices that a foreign MemPalace's search moved the index away, and a restart of Chroma and broker brings all vectors back", async () => {
    await using scene = await setChromaScene(OLD);
    const { palace, palaceDir, chroma, env } = scene;
    // 3.3.6 considers an index with a deleted element damaged.
    await using shim = await palace.shim(env);
    await shim.call("mempalace_delete_drawer", { drawer_id: ledgerIds(scene)[0] ?? "" });
    await file(palace, env, OURS, INDEXED + 1);
    const ids = ledgerIds(scene);
    expect([ids.length, await haveVectors(chroma.url, ids)]).toEqual([INDEXED, true]);
    await using foreign = await openMempalace(OLD, { home: palace.home, palace: palaceDir });
    await foreign.call("search", { query: "ours" });
    await foreign[Symbol.asyncDispose]();
    await expect
      .poll(async () => (await status(palace)).strays, { timeout: FOUND_MAX_MS })
      .toMatchObject({
        state: "found",
        rows: 0,
        unindexed: expect.toSatisfy((count) => count >= INDEXED_MIN) as number,
      });
    const check = await doctor(scene);
    expect(check).toMatchObject({
      state: "warn",
      detail: expect.stringMatching(/its index has lost the vectors of \d+ rows/) as string,
      hint: expect.stringMatching(/restart Chroma, then type .*palace restart/) as string,
    });

    await chroma.restart();
    expect(await haveVectors(chroma.url, ids)).toBe(false);
    expect(await palace.run("palace", ["restart"], { env })).toMatchObject({ code: 0 });
    await expect.poll(() => haveVectors(chroma.url, ids), { timeout: 60_000 }).toBe(true);
    expect(ledgerIds(scene)).toEqual(ids);
    await expect.poll(async () => (await status(palace)).strays, { timeout: 120_000 }).toMatchObject({ unindexed: 0 });
  });
});

/** Returns true if Chroma has a vector for each id. Chroma fails a whole request if one id has none. */
async function haveVectors(url: string, ids: readonly string[]): Promise<boolean> {
  const collections = `${url}/api/v2/tenants/default_tenant/databases/default_database/collections`;
  const found = (await (await fetch(collections)).json()) as { id: string; name: string }[];
  const drawers = found.find(({ name }) => name === "mempalace_drawers");
  const response = await fetch(`${collections}/${drawers?.id}/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ids, include: ["embeddings"] }),
  });
  if (!response.ok) return false;
  return ((await response.json()) as { embeddings: unknown[] }).embeddings.filter(Boolean).length === ids.length;
}
