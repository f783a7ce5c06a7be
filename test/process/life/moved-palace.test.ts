import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { MEMPALACE_VERSIONS, mempalaceEnv, mempalaceMissing, openMempalace } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "moved-"));
  mkdirSync(join(home, ".mempalace"));
  mkdirSync(join(home, "disk"));
  const settings = { palace_path: join(home, "disk/palace"), collection_name: "team_notes" };
  writeFileSync(join(home, ".mempalace/config.json"), JSON.stringify(settings));
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

const note = (content: string): Record<string, unknown> => ({ wing: "proj", room: "notes", content });

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: a moved palace, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`with MemPalace ${version}`, () => {
    it("MemPalace and we find each other's drawers, in the folder and the collection that config.json names", async () => {
      {
        await using theirs = await openMempalace(version, { home });
        await theirs.call("add_drawer", note("filed by theirs, about the quarry"));
      }
      expect(existsSync(join(home, "disk/palace/chroma.sqlite3"))).toBe(true);
      {
        mempalaceEnv(home);
        await using palace = createTestPalace({ home });
        await palace.startBroker();
        await inStep(palace);
        await using shim = await palace.shim();
        expect(await shim.call("mempalace_status", {})).toMatchObject({ total_drawers: 1 });
        const found = await shim.call("mempalace_search", { query: "quarry" });
        expect(found).toMatchObject({ results: [{ text: "filed by theirs, about the quarry" }] });
        await shim.call("mempalace_add_drawer", note("filed by ours, about the lighthouse"));
        await inStep(palace);
        const survey = await palace.run("palace", ["adopt", join(home, "disk/palace"), "--dry-run", "--json"]);
        expect(JSON.parse(survey.stdout)).toMatchObject({ drawers: 2 });
        const health = await palace.run("mempalace", ["repair-status"]);
        expect(health.stdout).toMatch(/\[drawers\]\n.*2\n/);
        const exported = await palace.run("palace", ["export", join(home, "disk/out"), "--without-chroma", "--json"]);
        expect(exported, exported.stderr).toMatchObject({ code: 0 });
        const repaired = await palace.run("mempalace", ["repair", "--yes"]);
        expect(repaired, repaired.stderr).toMatchObject({ code: 0 });
        await palace.run("palace", ["stop"]);
      }
      expect(existsSync(join(home, ".mempalace/palace"))).toBe(false);
      {
        await using copy = await openMempalace(version, { home, palace: join(home, "disk/out") });
        expect(await copy.call("status")).toMatchObject({ total_drawers: 2 });
      }
      await using theirs = await openMempalace(version, { home });
      expect(await theirs.call("status")).toMatchObject({ total_drawers: 2 });
      const found = await theirs.call("search", { query: "lighthouse", limit: 2 });
      expect(JSON.stringify(found["results"])).toContain("filed by ours, about the lighthouse");
    });
  });
}
