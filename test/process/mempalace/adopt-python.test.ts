import { createHash } from "node:crypto";
import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { cachedChroma, dumpChroma, fillChroma } from "../../helpers/python-chroma.ts";
import { MEMPALACE_VERSIONS, mempalaceEnv, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";
import { expectSame, ledgerRows, status } from "../../helpers/python-rows.ts";

const DONE_MAX_MS = 60_000;
const IDS = {
  "3.3.6": "drawer_proj_notes_787077a2695de31eeabcfa27",
  "3.11.0": "drawer_proj_notes_cc89225cc9117425c0e6ec15",
};

/** Starts a broker and waits until it has adopted the palace. */
async function adopt(palace: TestPalace, rows: number): Promise<StatusReport> {
  await palace.startBroker();
  await expect
    .poll(async () => (await status(palace)).adoption, { timeout: DONE_MAX_MS })
    .toMatchObject({ state: "verified", rows });
  return status(palace);
}

function hashOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name),
      createHash("sha256")
        .update(readFileSync(join(parentPath, name)))
        .digest("hex"),
    ]),
  );
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: adoption, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`a palace of MemPalace ${version}`, () => {
    it("a palace of MemPalace is adopted when the broker opens it and stays unchanged; later changes by MemPalace are adopted too", async () => {
      // With the driver `files` the broker would correct the palace's sync threshold after the adoption.
      await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
      const { palaceDir } = palace.config.paths;
      const ids: string[] = [];
      {
        await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
        for (let index = 0; index < 12; index++) {
          const added = await theirs.call("add_drawer", {
            wing: "proj",
            room: "notes",
            content: `note ${index}, ä 日本`,
          });
          ids.push(String(added["drawer_id"]));
        }
        await theirs.call("add_drawer", { wing: "proj", room: "long", content: "abc ".repeat(500) });
        await theirs.call("diary_write", { agent_name: "me", entry: "dear diary", topic: "days" });
        await theirs.call("update_drawer", { drawer_id: ids[1], content: "one, changed" });
        await theirs.call("delete_drawer", { drawer_id: ids[2] });
      }
      const theirs = await dumpChroma(version, palace.home, palaceDir);
      const before = hashOf(palaceDir);

      const first = await adopt(palace, theirs.size);
      expect(first.adoption.taken).toBe(theirs.size);
      expect(first).toMatchObject({ drawers: theirs.size, strays: { state: "clear", rows: 0 } });
      expectSame(ledgerRows(palace), theirs);
      expect(hashOf(palaceDir)).toEqual(before);

      {
        await using shim = await palace.shim();
        const found = await shim.call("mempalace_search", { query: "dear diary", limit: 3 });
        expect(JSON.stringify(found)).toContain("dear diary");
        expect(await shim.call("mempalace_diary_read", { agent_name: "me" })).toMatchObject({ showing: 1 });
        // A text that the palace already has is found under its old id. A new text gets the id that this version of MemPalace would give
        // it.
        const again = await shim.call("mempalace_add_drawer", {
          wing: "proj",
          room: "notes",
          content: "note 3, ä 日本",
        });
        expect(again).toMatchObject({ reason: "already_exists", drawer_id: ids[3] });
        const added = await shim.call("mempalace_add_drawer", { wing: "proj", room: "notes", content: "hello world" });
        expect(added).toMatchObject({ success: true, drawer_id: IDS[version] });
        await shim.call("mempalace_delete_drawer", { drawer_id: IDS[version] });
      }
      await palace.run("palace", ["stop"]);

      {
        await using later = await openMempalace(version, { home: palace.home, palace: palaceDir });
        await later.call("add_drawer", { wing: "later", room: "notes", content: "written while the broker was away" });
        await later.call("update_drawer", { drawer_id: ids[4], content: "four, changed later" });
        await later.call("update_drawer", { drawer_id: ids[5], room: "moved" });
        await later.call("delete_drawer", { drawer_id: ids[6] });
      }
      const after = await dumpChroma(version, palace.home, palaceDir);
      await palace.run("palace", ["start"]);
      await expect
        .poll(async () => (await status(palace)).adoption, { timeout: DONE_MAX_MS })
        .toMatchObject({ state: "verified", rows: after.size, taken: 4 });
      expectSame(ledgerRows(palace), after);
    });
  });
}

const version = "3.11.0";
const ROWS = 2_500;

describe.skipIf((await mempalaceMissing(version)) !== undefined)("the adoption of a palace", () => {
  it("a palace with an index on disk and later changes and deletions is adopted whole, although the broker is killed at every step", async () => {
    await using palace = createTestPalace();
    const { palaceDir, ledgerFile } = palace.config.paths;
    await cachedChroma(version, palaceDir, { rows: ROWS, syncThreshold: 1_000 });
    const theirs = await dumpChroma(version, palace.home, palaceDir);
    expect(theirs.size).toBe(ROWS - 1);
    const before = hashOf(palaceDir);
    for (const point of ["before-batch:2", "after-row:700", "before-commit:3", "after-commit:4"]) {
      const broker = await palace.startBroker({ MEMPALACE_FAULT: `take-over.${point}` });
      expect(await exitOf(broker), point).toEqual([null, "SIGKILL"]);
      const database = new Database(ledgerFile, { readonly: true });
      const left = database.prepare("SELECT count(*) FROM drawer").pluck().get() as number;
      // The broker adopts 200 rows in one transaction, so each adopted drawer has its vector, its words, its wing and its room.
      expect(left % 200).toBe(0);
      expect(database.prepare("SELECT count(*) FROM vector").pluck().get()).toBe(left);
      expect(database.prepare("SELECT coalesce(sum(drawers), 0) FROM place").pluck().get()).toBe(left);
      expect(
        database.prepare("SELECT count(*) FROM drawer_fts WHERE drawer_fts MATCH 'text OR changed'").pluck().get(),
      ).toBe(left);
      expect(database.prepare("SELECT count(*) FROM outbox").pluck().get()).toBe(0);
      database.close();
    }
    await adopt(palace, ROWS - 1);
    expectSame(ledgerRows(palace), theirs);
    expect(hashOf(palaceDir)).toEqual(before);
  });

  it("a palace with a damaged index is adopted with its texts, which are embedded again", async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    await cachedChroma(version, palaceDir, { rows: 1_300, syncThreshold: 1_000 });
    const theirs = await dumpChroma(version, palace.home, palaceDir);
    const pickle = Object.keys(hashOf(palaceDir)).find((file) => file.endsWith("index_metadata.pickle")) ?? "";
    truncateSync(pickle, 1_000);
    await adopt(palace, theirs.size);
    await expect.poll(async () => (await status(palace)).search.pending, { timeout: DONE_MAX_MS }).toBe(0);
    expectSame(ledgerRows(palace), theirs);
  });

  it("a palace with vectors of another model is embedded again with our model", async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    await fillChroma(version, palace.home, palaceDir, { rows: 50, syncThreshold: 1000 });
    // Writes vectors as another model would: of the same width, but unrelated to the texts.
    const database = new Database(join(palaceDir, "chroma.sqlite3"));
    for (const seq of database.prepare("SELECT seq_id FROM embeddings_queue WHERE vector IS NOT NULL").pluck().all()) {
      const vector = Float32Array.from({ length: 384 }, (_, at) => Math.sin(at * (Number(seq) + 1)));
      database.prepare("UPDATE embeddings_queue SET vector = ? WHERE seq_id = ?").run(Buffer.from(vector.buffer), seq);
    }
    database.close();
    writeFileSync(join(palaceDir, "note"), "");
    await adopt(palace, 49);
    await expect
      .poll(async () => (await status(palace)).search, { timeout: DONE_MAX_MS })
      .toMatchObject({ pending: 0 });
    const { search } = await status(palace);
    expect(search.model).toMatch(/^custom:/);
    const ours = [...ledgerRows(palace).values()].find(({ text }) => text === "text number 9 of many");
    const again = await (async () => {
      await using shim = await palace.shim();
      return shim.call("mempalace_search", { query: "text number 9 of many", limit: 1 });
    })();
    expect(ours?.vector).toHaveLength(384);
    expect(JSON.stringify(again)).toContain("text number 9 of many");
  });
});

it("a home without a palace has the adoption state `none`", async () => {
  await using palace = createTestPalace();
  mempalaceEnv(palace.home);
  await palace.startBroker();
  expect(await status(palace)).toMatchObject({ adoption: { state: "none" }, drawers: 0 });
});
