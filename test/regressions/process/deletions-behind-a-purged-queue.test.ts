/** Chroma purges its queue when it flushes its index. So MemPalace's deletions looked like losses, and we undid them. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readChroma } from "../../../src/mempalace/format/chroma-file.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { cachedChroma, dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing, python } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const TIMEOUT_MS = 180_000;

/** Deletes drawers, and then adds so many other drawers that Chroma purges its queue. */
const WORK = `
import chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
c = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=DefaultEmbeddingFunction())
c.delete(ids=["drawer_20", "drawer_21"])
c.delete(where={"wing": "w3"})
vector = c.get(ids=["drawer_1"], include=["embeddings"])["embeddings"][0]
for start in range(0, 1200, 200):
    at = range(start, start + 200)
    c.upsert(ids=[f"theirs_{i}" for i in at], documents=[f"theirs {i}" for i in at], embeddings=[vector] * 200, metadatas=[{"wing": "theirs", "room": "r"}] * 200)`;

describe.skipIf((await mempalaceMissing(VERSION)) !== undefined)(
  "drawers missing in the palace after Chroma purged its queue",
  () => {
    it("a drawer that MemPalace deleted stays deleted", { timeout: TIMEOUT_MS }, async () => {
      await using palace = createTestPalace();
      mempalaceEnv(palace.home);
      const { palaceDir } = palace.config.paths;
      await cachedChroma(VERSION, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
      await palace.run("palace", ["start"]);
      await inStep(palace);
      await palace.run("palace", ["stop"]);
      await python(VERSION, palace.home, WORK, [palaceDir]);
      const told = "SELECT count(*) FROM embeddings_queue WHERE operation = 3 AND id = 'drawer_20'";
      expect(readChroma(palaceDir, 5_000, (database) => database.prepare(told).pluck().get())).toBe(0);
      const theirs = await dumpChroma(VERSION, palace.home, palaceDir);

      await palace.run("palace", ["start"]);
      await inStep(palace);
      expect([...ledgerRows(palace).keys()].sort()).toEqual([...theirs.keys()].sort());
      await palace.run("palace", ["stop"]);
      expectSame(ledgerRows(palace), await dumpChroma(VERSION, palace.home, palaceDir));
    });

    it("our drawer that an older copy of the palace lacks stays in the ledger", { timeout: TIMEOUT_MS }, async () => {
      await using palace = createTestPalace();
      mempalaceEnv(palace.home);
      const { palaceDir } = palace.config.paths;
      await cachedChroma(VERSION, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
      const older = join(palace.home, "older");
      cpSync(palaceDir, older, { recursive: true });
      await palace.run("palace", ["start"]);
      await palace.run("palace", [
        "call",
        "add_drawer",
        JSON.stringify({ wing: "ours", room: "r", content: "ours alone" }),
      ]);
      await inStep(palace);
      await palace.run("palace", ["stop"]);
      rmSync(palaceDir, { recursive: true });
      cpSync(older, palaceDir, { recursive: true });
      await python(VERSION, palace.home, WORK, [palaceDir]);
      await palace.run("palace", ["start"]);
      await inStep(palace);
      expect([...ledgerRows(palace).values()].map(({ text }) => text)).toContain("ours alone");
    });
  },
);
