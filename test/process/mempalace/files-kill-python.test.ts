import { once } from "node:events";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { countUnindexed, readChroma, readCollections } from "../../../src/mempalace/format/chroma-file.ts";
import { add, createScene, quarantined, stop } from "../../helpers/files-scene.ts";
import { exitOf } from "../../helpers/palace.ts";
import { cachedChroma, dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceMissing } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";

const NEW = "3.11.0";
const POINTS = [
  "before-link:1",
  "before-begin:1",
  "after-queue:12",
  "after-row:12",
  "before-commit:1",
  "before-commit:3",
  "after-commit:1",
  "after-commit:2",
  "after-remove:2",
];
function integrity(palaceDir: string): unknown {
  const database = new Database(join(palaceDir, "chroma.sqlite3"));
  try {
    database.exec(
      "INSERT INTO embedding_fulltext_search(embedding_fulltext_search, rank) VALUES ('integrity-check', 1)",
    );
    return database.pragma("integrity_check", { simple: true });
  } finally {
    database.close();
  }
}

const withoutVector = (palaceDir: string): number | undefined =>
  readChroma(palaceDir, 5_000, (palace) => {
    const [collection] = readCollections(palace);
    return collection && countUnindexed(palace, palaceDir, collection);
  });

describe.skipIf((await mempalaceMissing(NEW)) !== undefined)("a write of the palace's files", () => {
  it.each(POINTS)(
    "a write of the palace's files that is killed at %s leaves a whole palace, and is then repeated",
    async (point) => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      const broker = await palace.startBroker({ MEMPALACE_FAULT: `files.${point}` });
      const died = once(broker, "exit");
      await using shim = await palace.shim();
      const work = async (): Promise<void> => {
        const ids = await add(
          shim,
          Array.from({ length: 30 }, (_, n) => `note ${n}`),
        );
        await inStep(palace).catch(() => {});
        await Promise.all(ids.slice(0, 8).map((id) => shim.call("mempalace_delete_drawer", { drawer_id: id })));
        await inStep(palace).catch(() => {});
        await add(shim, ["last"]);
      };
      const working = work();
      expect(await died).toEqual([null, "SIGKILL"]);
      await palace.startBroker();
      await working;
      await inStep(palace);
      await stop(palace);
      expect(integrity(palaceDir)).toBe("ok");
      expect(ledgerRows(palace).size).toBe(23);
      expectSame(ledgerRows(palace), await dumpChroma(NEW, palace.home, palaceDir));
      expect(readdirSync(palaceDir).filter((name) => name.includes(".new"))).toEqual([]);
    },
  );

  // torn-index.test.ts damages the other files of an index, without a kill.
  it("a write of the palace's files moves a damaged index away and restores its vectors, although the write is killed in between", async () => {
    await using palace = createScene();
    const { palaceDir } = palace.config.paths;
    await cachedChroma(NEW, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
    const whole = await dumpChroma(NEW, palace.home, palaceDir);
    await palace.startBroker();
    await inStep(palace);
    await stop(palace);
    const folder = readdirSync(palaceDir).find((name) => /^[0-9a-f-]{36}$/.test(name)) ?? "";
    truncateSync(join(palaceDir, folder, "index_metadata.pickle"), 5_000);
    const broker = await palace.startBroker({ MEMPALACE_FAULT: "files.in-quarantine:1" });
    expect(await exitOf(broker)).toEqual([null, "SIGKILL"]);
    await palace.startBroker();
    await expect.poll(() => quarantined(palaceDir), { timeout: 60_000 }).toHaveLength(1);
    await expect.poll(() => withoutVector(palaceDir), { timeout: 60_000 }).toBe(0);
    await inStep(palace);
    await stop(palace);
    expectSame(whole, await dumpChroma(NEW, palace.home, palaceDir));
  });
});
