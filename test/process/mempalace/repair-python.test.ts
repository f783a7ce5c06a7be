import { once } from "node:events";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { readChroma, readCollections } from "../../../src/mempalace/format/chroma-file.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { cachedChroma, dumpChroma } from "../../helpers/python-chroma.ts";
import {
  MEMPALACE_VERSIONS,
  mempalaceEnv,
  mempalaceMissing,
  openMempalace,
  python,
} from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";

const [, version] = MEMPALACE_VERSIONS;
const missing = await mempalaceMissing(version);

function createScene(): TestPalace {
  const palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
  mempalaceEnv(palace.home);
  return palace;
}

const CLOSETS = `
import chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
closets = chromadb.PersistentClient(sys.argv[1]).get_or_create_collection("mempalace_closets",
  embedding_function=DefaultEmbeddingFunction(), metadata={"hnsw:space": "cosine"})
if len(sys.argv) > 2:
  closets.upsert(ids=["closet_a_01", "closet_b_01"], documents=["built a thing", "fixed another"],
    metadatas=[{"wing": "w1", "room": "r", "source_file": "/a"}, {"wing": "w2", "room": "r", "source_file": "/b"}])
print(sorted(zip(closets.get()["ids"], closets.get()["documents"])), closets.query(query_texts=["built a thing"], n_results=1)["ids"])`;

const kept = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith("before-"));

async function stop(palace: TestPalace): Promise<void> {
  expect(await palace.run("palace", ["stop"])).toMatchObject({ code: 0 });
}

async function start(palace: TestPalace): Promise<void> {
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  await inStep(palace);
}

async function health(palace: TestPalace): Promise<{ code: number | null; faults: string[] }> {
  const { code, stdout } = await palace.run("palace", ["repair-status", "--json"]);
  return { code, faults: (JSON.parse(stdout) as { faults: string[] }).faults };
}

const STEPS = [
  "repair.after-words",
  "repair.before-build",
  "repair.in-build:1",
  "repair.before-verify",
  "repair.before-swap",
  "repair.after-keep",
  "repair.after-swap",
  "repair.after-segments",
];

describe.skipIf(missing !== undefined)("palace repair", () => {
  it("repair reports the damage, repairs it, keeps closets and the old palace, and MemPalace opens both palaces", async () => {
    await using palace = createScene();
    const { palaceDir, ledgerFile } = palace.config.paths;
    await cachedChroma(version, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
    const closets = await python(version, palace.home, CLOSETS, [palaceDir, "make"]);
    await start(palace);
    const rows = ledgerRows(palace);
    expect(await health(palace)).toEqual({ code: 0, faults: [] });
    expect((await palace.run("palace", ["migrate"])).stdout).toContain("Nothing to do");
    await stop(palace);

    const ledger = new Database(ledgerFile);
    ledger.exec(`
      INSERT INTO drawer_fts (drawer_fts) VALUES ('delete-all');
      DELETE FROM vector_code WHERE row % 3 = 0;
      UPDATE place SET drawers = drawers + 5 WHERE wing = 'w1';`);
    ledger.close();
    await start(palace);
    const damaged = await health(palace);
    expect([damaged.code, damaged.faults.join()]).toEqual([1, expect.stringContaining("index of words holds 0 of")]);
    expect(damaged.faults).toHaveLength(3);
    const words = ["search", "--mode", "lexical", "number", "77"];
    expect((await palace.run("palace", words)).stdout).toBe("Nothing found.\n");
    const repaired = await palace.run("palace", ["repair", "--json"]);
    expect([repaired.code, repaired.stderr]).toEqual([0, ""]);
    expect(JSON.parse(repaired.stdout)).toMatchObject({
      ledger: { placesCorrected: expect.any(Number) },
      palace: { drawers: rows.size, others: [{ name: "mempalace_closets", rows: 2, unreadable: 0 }] },
    });
    await inStep(palace);
    expect(await health(palace)).toEqual({ code: 0, faults: [] });
    expect((await palace.run("palace", words)).stdout).toContain("text number 77 of many");
    {
      await using shim = await palace.shim();
      await shim.call("mempalace_add_drawer", { wing: "after", room: "r", content: "after the repair" });
    }
    await inStep(palace);
    const after = ledgerRows(palace);
    await stop(palace);
    expectSame(after, await dumpChroma(version, palace.home, palaceDir));
    expect(await python(version, palace.home, CLOSETS, [palaceDir])).toBe(closets);
    const [old = "", ...more] = kept(palaceDir);
    expect(more).toEqual([]);
    expectSame(rows, await dumpChroma(version, palace.home, join(palaceDir, old)));
    {
      await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
      expect(await theirs.call("status")).toMatchObject({ total_drawers: after.size });
    }
    await start(palace);
    expectSame(ledgerRows(palace), after);
  });

  it("repair replaces a destroyed palace file by a whole palace, and keeps the destroyed file", async () => {
    await using palace = createScene();
    const { palaceDir } = palace.config.paths;
    await palace.startBroker();
    await fill(palace, 40);
    const rows = ledgerRows(palace);
    await stop(palace);
    truncateSync(join(palaceDir, "chroma.sqlite3"), 6_000);
    expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
    expect((await health(palace)).code).toBe(1);
    expect(await palace.run("palace", ["migrate", "--dry-run"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Needed: "),
    });
    expect(kept(palaceDir)).toEqual([]);
    expect(await palace.run("palace", ["migrate"])).toMatchObject({ code: 0 });
    await inStep(palace);
    await stop(palace);
    expectSame(rows, await dumpChroma(version, palace.home, palaceDir));
    expect(kept(palaceDir)).toHaveLength(1);
  });

  it(
    "a repair killed at any step leaves a whole palace, and the next repair succeeds",
    { timeout: 240_000 },
    async () => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      await palace.startBroker();
      await fill(palace, 40);
      const rows = ledgerRows(palace);
      await stop(palace);
      // Each repair finds the files that the killed repair before it left, and gets further.
      for (const fault of STEPS) {
        const broker = await palace.startBroker({ MEMPALACE_FAULT: fault });
        await inStep(palace);
        const killed = once(broker, "exit");
        const { code } = await palace.run("palace", ["repair"]);
        expect([fault, await killed, code === 0]).toEqual([fault, [null, "SIGKILL"], false]);
        // Stops any broker that the command's client has started since the kill.
        await stop(palace);
        expectSame(rows, await dumpChroma(version, palace.home, palaceDir));
      }
      await start(palace);
      expect(await palace.run("palace", ["repair"])).toMatchObject({ code: 0 });
      await inStep(palace);
      await stop(palace);
      expectSame(rows, await dumpChroma(version, palace.home, palaceDir));
      const folders = readdirSync(palaceDir, { withFileTypes: true }).flatMap((one) =>
        one.isDirectory() ? one.name : [],
      );
      const own = readChroma(palaceDir, 1_000, readCollections)?.map(({ vectorSegment }) => vectorSegment) ?? [];
      expect(folders.filter((name) => !name.startsWith("before-") && !own.includes(name))).toEqual([]);
      expect(kept(palaceDir)).not.toEqual([]);
      for (const name of kept(palaceDir))
        expectSame(rows, await dumpChroma(version, palace.home, join(palaceDir, name)));
    },
  );
});

async function fill(palace: TestPalace, notes: number): Promise<void> {
  await using shim = await palace.shim();
  await Promise.all(
    Array.from({ length: notes }, (_, n) =>
      shim.call("mempalace_add_drawer", { wing: `w${n % 3}`, room: "notes", content: `our note ${n}, ä 日本` }),
    ),
  );
  await inStep(palace);
}
