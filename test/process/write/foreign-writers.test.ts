/** Tests a real MemPalace that our lock cannot reach (another HOME or mount point) and that writes the same palace as our driver. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  doctor,
  FOUND_MAX_MS,
  idsIn,
  ledgerIds,
  OURS,
  type Scene,
  setChromaScene,
  setFilesScene,
} from "../../helpers/foreign-scene.ts";
import { otherMountMissing, throughOtherMount } from "../../helpers/other-mount.ts";
import {
  MEMPALACE_VERSIONS,
  type MempalaceOptions,
  mempalaceMissing,
  openMempalace,
  runMempalace,
} from "../../helpers/python-mempalace.ts";
import { status } from "../../helpers/python-rows.ts";

/** Time limit of a call, ms: the foreign Chroma and the palace's own Chroma may wait for each other for ever. */
const FOREIGN_MAX_MS = 40_000;
/** Maximum time to find and adopt rows, ms. After each comparison the broker pauses for nine times the comparison's duration. */
const SETTLED_MAX_MS = 400_000;

let otherHome: string;
beforeEach(() => {
  otherHome = mkdtempSync(join(tmpdir(), "palace-other-"));
});
afterEach(() => rmSync(otherHome, { recursive: true }));

const ourIds = ({ palace }: Scene): string[] =>
  idsIn(palace.config.paths.ledgerFile, "SELECT id FROM drawer WHERE wing = 'ours'");
const palaceIds = ({ palaceDir }: Scene): string[] =>
  idsIn(join(palaceDir, "chroma.sqlite3"), "SELECT embedding_id FROM embeddings");

for (const version of MEMPALACE_VERSIONS) {
  const missing = (await mempalaceMissing(version)) ?? otherMountMissing;
  if (missing !== undefined) console.log(`left out: foreign writers, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`a foreign MemPalace ${version}`, () => {
    /** Lets the foreign MemPalace file five drawers and delete one of ours. Returns the ids of the new rows. */
    const meddle = async (scene: Scene, options: MempalaceOptions, turn: number): Promise<string[]> => {
      const victim = ourIds(scene)[turn] ?? "";
      const before = new Set(palaceIds(scene));
      await using foreign = await openMempalace(version, options);
      for (let index = 0; index < 5; index++) {
        const note = { wing: "stray", room: "notes", content: `of a foreign writer in ${options.palace}, ${index}` };
        expect(await foreign.call("add_drawer", note)).toMatchObject({ success: true });
      }
      expect(await foreign.call("delete_drawer", { drawer_id: victim })).toMatchObject({ success: true });
      // Our broker may have sent a drawer again that an earlier call had deleted.
      const ours = new Set(ourIds(scene));
      return palaceIds(scene).filter((id) => !before.has(id) && !ours.has(id));
    };

    const isNamed = async (scene: Scene, written: string[], deleted: number): Promise<void> => {
      const { palace } = scene;
      await expect
        .poll(async () => (await status(palace)).strays, { timeout: FOUND_MAX_MS })
        .toMatchObject({ state: "found", rows: 0, taken: written.length, resent: deleted });
      const { strays } = await status(palace);
      expect(Math.abs((strays.newestAtMs ?? 0) - Date.now())).toBeLessThan(600_000);
      const check = await doctor(scene);
      expect(check).toMatchObject({ state: "warn", detail: expect.stringContaining("another mount point") as string });
      expect(check?.detail).toContain(`${written.length} rows of other programs were adopted`);
      // Both sides have all our drawers and all of MemPalace's.
      await expect.poll(async () => (await status(palace)).driver.lag, { timeout: FOUND_MAX_MS }).toBe(0);
      expect(ledgerIds(scene)).toHaveLength(OURS + written.length);
      expect(ledgerIds(scene)).toEqual(expect.arrayContaining(written));
      expect(palaceIds(scene)).toEqual(ledgerIds(scene));
    };

    // Each driver notices foreign writers in its own way, and each version of MemPalace writes in its own way, so both are tested.
    const driver = version === "3.3.6" ? "chroma" : "files";
    it(`a foreign MemPalace of another HOME and mount point, beside the driver ${driver}, is reported, its rows are adopted, and drawers that it deleted are sent again`, async () => {
      await using scene = await (driver === "chroma" ? setChromaScene(version) : setFilesScene());
      const { palace, palaceDir } = scene;
      const written = await meddle(scene, { home: otherHome, palace: palaceDir }, 0);
      expect(written.length).toBeGreaterThanOrEqual(5);
      const { path: mount, wrapper } = throughOtherMount(palaceDir, join(otherHome, "mounted"));
      const more = await meddle(scene, { home: palace.home, palace: mount, wrapper }, 1);
      expect(more.length).toBeGreaterThanOrEqual(5);
      // The counts show that both foreign writers were noticed.
      await isNamed(scene, [...written, ...more], 2);
    });
  });
}

const NEW = "3.11.0";

/** Returns true if the foreign MemPalace hung: it never answered and will answer no other call. Other errors do not matter. */
function stuck(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    (error: unknown) => /timed out/i.test(String(error)),
  );
}

describe.skipIf((await mempalaceMissing(NEW)) !== undefined || otherMountMissing !== undefined)(
  "MemPalace that mines beside our broker",
  () => {
    // If two MemPalaces mined like this without our broker, they would lose some vectors, without an error.
    it("our agents lose no drawer while MemPalace mines by a second mount path and a second HOME, and doctor warns of the foreign writer", async () => {
      await using scene = await setChromaScene(NEW);
      const { palace, palaceDir, env } = scene;
      const projects = ["one", "two"].map((name) => {
        const project = join(otherHome, name);
        mkdirSync(project);
        for (let index = 0; index < 12; index++)
          writeFileSync(
            join(project, `note${index}.md`),
            `# Note ${index} of ${name}\n\n${`Mined by ${name}. `.repeat(60)}`,
          );
        writeFileSync(join(project, "mempalace.yaml"), `wing: mined_${name}\nrooms:\n  - name: general\n`);
        return project;
      });
      const { path: mount, wrapper } = throughOtherMount(palaceDir, join(otherHome, "mounted"));
      let mining = true;
      // Upstream's miner often gives up while others write to its Chroma, so MemPalace also files drawers for an agent.
      const meddle = async (name: string, project: string, options: MempalaceOptions): Promise<void> => {
        const place = options.palace === undefined ? [] : ["--palace", options.palace];
        await runMempalace(NEW, [...place, "mine", project], options);
        await using foreign = await openMempalace(NEW, options);
        for (let index = 0; index < 10; index++)
          if (await stuck(foreign.call("add_drawer", { wing: "stray", room: name, content: `${name} files ${index}` })))
            break;
      };
      const [one = "", two = ""] = projects;
      const miners = meddle("one", one, { home: otherHome, palace: palaceDir, timeoutMs: FOREIGN_MAX_MS })
        .then(() => meddle("two", two, { home: palace.home, palace: mount, wrapper, timeoutMs: FOREIGN_MAX_MS }))
        .finally(() => (mining = false));
      const agents = await Promise.all([1, 2, 3, 4].map(() => palace.shim(env)));
      let written = 0;
      await Promise.all(
        agents.map(async (agent, number) => {
          for (let index = 0; mining || index < 50; index++) {
            const note = { wing: "ours", room: `agent${number}`, content: `storm ${number} ${index}` };
            expect(await agent.call("mempalace_add_drawer", note)).toMatchObject({ success: true });
            written += 1;
            // Slows the agents down: foreign writers need minutes on a busy machine, and the test compares every drawer later.
            if (index > 50) await delay(100);
          }
        }),
      );
      await miners;
      for (const agent of agents) await agent.close();
      // Every one of our drawers is also in the public palace, and every row of MemPalace is in the memory.
      const wings = (): { ours: number; others: number } => ({
        ours: idsIn(palace.config.paths.ledgerFile, "SELECT id FROM drawer WHERE wing = 'ours'").length,
        others: idsIn(palace.config.paths.ledgerFile, "SELECT id FROM drawer WHERE wing <> 'ours'").length,
      });
      const inDrawers = `SELECT e.embedding_id FROM embeddings e JOIN segments s ON s.id = e.segment_id
      JOIN collections c ON c.id = s.collection WHERE c.name = 'mempalace_drawers'`;
      expect(wings().ours).toBe(OURS + written);
      await expect
        .poll(() => ledgerIds(scene).filter((id) => !palaceIds(scene).includes(id)).length, { timeout: SETTLED_MAX_MS })
        .toBe(0);
      const theirs = (): number => {
        const filed = new Set(ledgerIds(scene));
        return idsIn(join(palaceDir, "chroma.sqlite3"), inDrawers).filter((id) => !filed.has(id)).length;
      };
      await expect
        .poll(theirs, { timeout: SETTLED_MAX_MS })
        .toBe(0)
        .catch(async (cause: unknown) => {
          const { adoption, strays, driver } = await status(palace);
          throw new Error(`not adopted: ${JSON.stringify({ adoption, strays, driver })}`, { cause });
        });
      expect(wings().others).toBeGreaterThanOrEqual(10);
      // The broker reports the foreign writer after a second comparison has confirmed it.
      await expect
        .poll(async () => (await status(palace)).strays, { timeout: SETTLED_MAX_MS })
        .toMatchObject({ state: "found", rows: 0 });
      expect(await doctor(scene)).toMatchObject({ state: "warn" });
    }, 1_500_000);
  },
);
