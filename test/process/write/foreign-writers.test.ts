/**
 * A real MemPalace that our lock cannot reach, under another HOME or at another mount point, writes the same palace as our driver, itself
 * or through a real Chroma server. The broker notices the MemPalace by the palace's own row numbers, doctor names it, and our drawers
 * stay.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { otherMountMissing, throughOtherMount } from "../../helpers/other-mount.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import {
  MEMPALACE_VERSIONS,
  type MempalaceOptions,
  mempalaceMissing,
  type MempalaceVersion,
  openMempalace,
  type PythonChroma,
  runMempalace,
  startPythonChroma,
} from "../../helpers/python-mempalace.ts";
import { status } from "../../helpers/python-rows.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const OURS = 30;
const FOUND_MAX_MS = 60_000;
/** Time limit of a call, ms: the foreign Chroma and the palace's own Chroma may wait for each other for ever. */
const FOREIGN_MAX_MS = 40_000;
/** Time limit, ms. The pause between two comparisons of a palace is nine times as long as a comparison, which a busy machine slows. */
const SETTLED_MAX_MS = 400_000;

let otherHome: string;
beforeEach(() => {
  otherHome = mkdtempSync(join(tmpdir(), "palace-other-"));
});
afterEach(() => rmSync(otherHome, { recursive: true }));

type Scene = AsyncDisposable & {
  palace: TestPalace;
  env: Record<string, string>;
  palaceDir: string;
};
type ChromaScene = Scene & { chroma: PythonChroma };

/** Starts Chroma on a palace folder and a broker that uses this Chroma, and files OURS drawers. */
async function setChromaScene(version: MempalaceVersion): Promise<ChromaScene> {
  // If a later step fails, the stack still ends the started processes, the broker before its Chroma.
  await using begun = new AsyncDisposableStack();
  const palace = createTestPalace();
  const { palaceDir } = palace.config.paths;
  const chroma = begun.use(await startPythonChroma(version, palace.home, palaceDir));
  begun.use(palace);
  const env = { MEMPALACE_CHROMA_URL: chroma.url, MEMPALACE_MODEL_DIR: join(palace.home, "tiny-model") };
  return { ...(await fill(palace, env, begun)), chroma };
}

/** Makes the scene without a Chroma: the broker writes the palace's files itself. */
async function setFilesScene(): Promise<Scene> {
  await using begun = new AsyncDisposableStack();
  const palace = begun.use(createTestPalace());
  const env = { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "tiny-model")) };
  return await fill(palace, env, begun);
}

/** Starts the broker and files the drawers OURS. The end of the scene also ends the broker. */
async function fill(palace: TestPalace, env: Record<string, string>, begun: AsyncDisposableStack): Promise<Scene> {
  await palace.startBroker(env);
  await file(palace, env, 0, OURS);
  await expect.poll(async () => (await status(palace)).strays.state, { timeout: FOUND_MAX_MS }).toBe("clear");
  const scene = begun.move();
  return { palace, env, palaceDir: palace.config.paths.palaceDir, [Symbol.asyncDispose]: () => scene.disposeAsync() };
}

/** Files numbered drawers and waits until Chroma has them. */
async function file(palace: TestPalace, env: Record<string, string>, from: number, to: number): Promise<void> {
  await using shim = await palace.shim(env);
  for (let start = from; start < to; start += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, to - start) }, (_, at) =>
        shim.call("mempalace_add_drawer", { wing: "ours", room: "notes", content: `ours ${start + at}` }),
      ),
    );
  await expect
    .poll(async () => (await status(palace)).driver, { timeout: FOUND_MAX_MS })
    .toMatchObject({ state: "synced", lag: 0 });
}

async function doctor({ palace, env }: Scene): Promise<{ state: string; detail: string; hint: string } | undefined> {
  const { stdout } = await palace.run("palace", ["doctor", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string; hint: string }[] };
  return checks.find(({ name }) => name === "strays");
}

function idsIn(file: string, sql: string): string[] {
  const database = new Database(file, { readonly: true });
  const ids = database.prepare<[], string>(sql).pluck().all();
  database.close();
  return ids.sort();
}
const ledgerIds = ({ palace }: Scene): string[] => idsIn(palace.config.paths.ledgerFile, "SELECT id FROM drawer");
const palaceIds = ({ palaceDir }: Scene): string[] =>
  idsIn(join(palaceDir, "chroma.sqlite3"), "SELECT embedding_id FROM embeddings");

for (const version of MEMPALACE_VERSIONS) {
  const missing = (await mempalaceMissing(version)) ?? otherMountMissing;
  if (missing !== undefined) console.log(`left out: foreign writers, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`a foreign MemPalace ${version}`, () => {
    /** Files and deletes drawers as an agent would, and returns the ids of the rows that stay. */
    const meddle = async (scene: Scene, options: MempalaceOptions): Promise<string[]> => {
      const victim = ledgerIds(scene)[0] ?? "";
      const before = new Set(palaceIds(scene));
      await using foreign = await openMempalace(version, options);
      for (let index = 0; index < 5; index++) {
        const note = { wing: "stray", room: "notes", content: `of a foreign writer in ${options.palace}, ${index}` };
        expect(await foreign.call("add_drawer", note)).toMatchObject({ success: true });
      }
      expect(await foreign.call("delete_drawer", { drawer_id: victim })).toMatchObject({ success: true });
      return palaceIds(scene).filter((id) => !before.has(id));
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

    // Our driver decides how a foreign writer is noticed, and the writer's version decides how it writes. So each driver and each version
    // is tested here once. The test below with many writers has 3.11.0 beside a Chroma.
    const driver = version === "3.3.6" ? "chroma" : "files";
    it(`a foreign MemPalace of another HOME and mount point, beside the driver ${driver}, is reported, its rows are adopted, and drawers that it deleted are sent again`, async () => {
      await using scene = await (driver === "chroma" ? setChromaScene(version) : setFilesScene());
      const { palace, palaceDir } = scene;
      const written = await meddle(scene, { home: otherHome, palace: palaceDir });
      expect(written.length).toBeGreaterThanOrEqual(5);
      await isNamed(scene, written, 1);
      const { path: mount, wrapper } = throughOtherMount(palaceDir, join(otherHome, "mounted"));
      const more = await meddle(scene, { home: palace.home, palace: mount, wrapper });
      expect(more.length).toBeGreaterThanOrEqual(5);
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
    // Two upstream writers lose a part of their vectors in this way, without an error.
    it("while MemPalace mines by a second mount path and a second HOME, and our agents write, we lose no drawer, and doctor warns", async () => {
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
      // Upstream's miner often gives up beside a Chroma that is being written to. Drawers that an agent files through it arrive.
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
            if (index > 50) await delay(20);
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

/** Number of drawers beyond Chroma's sync threshold of 1,000, so that an index on disk can be torn. */
const INDEXED = 1_150;
/** Minimum number of rows that lose their index entry. Of the thousand records in the index, one was a deletion and one the deleted row. */
const INDEXED_MIN = 998;
const OLD = "3.3.6";

describe.skipIf((await mempalaceMissing(OLD)) !== undefined)(`a foreign MemPalace ${OLD} that only reads`, () => {
  // 3.3.6 moves the index folder away when it opens a palace whose index a newer Chroma wrote, with or without the lock.
  it("a foreign MemPalace that only reads and moves the index away is noticed, and a restart of Chroma and broker brings all vectors back", async () => {
    await using scene = await setChromaScene(OLD);
    const { palace, palaceDir, chroma, env } = scene;
    // 3.3.6 considers an index with a deleted element damaged.
    await using shim = await palace.shim(env);
    await shim.call("mempalace_delete_drawer", { drawer_id: ledgerIds(scene)[0] ?? "" });
    await file(palace, env, OURS, INDEXED + 1);
    expect(await withVector(chroma.url, ledgerIds(scene))).toBe(INDEXED);
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
    expect(await withVector(chroma.url, ledgerIds(scene))).toBeLessThan(INDEXED);
    expect(await palace.run("palace", ["restart"], { env })).toMatchObject({ code: 0 });
    await expect.poll(() => withVector(chroma.url, ledgerIds(scene)), { timeout: 60_000 }).toBe(INDEXED);
    await expect.poll(async () => (await status(palace)).strays, { timeout: 120_000 }).toMatchObject({ unindexed: 0 });
  });
});

/** Counts the ids for which Chroma has a vector. Chroma fails a request if one of its ids has none; each half is then asked for alone. */
async function withVector(url: string, ids: readonly string[]): Promise<number> {
  const collections = `${url}/api/v2/tenants/default_tenant/databases/default_database/collections`;
  const found = (await (await fetch(collections)).json()) as { id: string; name: string }[];
  const drawers = found.find(({ name }) => name === "mempalace_drawers");
  const response = await fetch(`${collections}/${drawers?.id}/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ids, include: ["embeddings"] }),
  });
  if (response.ok) return ((await response.json()) as { embeddings: unknown[] }).embeddings.filter(Boolean).length;
  if (ids.length === 1) return 0;
  const half = ids.length >> 1;
  return (await withVector(url, ids.slice(0, half))) + (await withVector(url, ids.slice(half)));
}
