import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma, type ChromaRow } from "../../helpers/python-chroma.ts";
import {
  MEMPALACE_VERSIONS,
  type Mempalace,
  mempalaceEnv,
  mempalaceMissing,
  openMempalace,
  runMempalace,
  startPythonChroma,
  python,
} from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, status } from "../../helpers/python-rows.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const CLOSETS = "mempalace_closets";

/** Makes a palace whose HOME has MemPalace's model, so that both sides make the same vectors. */
function createScene(env: Record<string, string> = { MEMPALACE_DRIVER: "files" }): TestPalace {
  const palace = createTestPalace({ env });
  mempalaceEnv(palace.home);
  return palace;
}

const DOCS: Readonly<Record<string, string>> = {
  "README.md": `# Auth design\n\nWe built the auth service with Redis. Redis was fast.\n\n${"More of it here. ".repeat(80)}`,
  "docs/parser.md": `# Parser\n\nFixed the parser of dates. Alice wrote it, said Alice.\n\n${"Parsing dates is hard. ".repeat(60)}`,
  "docs/plain.txt": `nothing but plain words in this file, ${"over and over again ".repeat(20)}`,
};

function write(root: string, docs: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(docs)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

async function start(palace: TestPalace): Promise<void> {
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  await inStep(palace);
}

async function mine(palace: TestPalace): Promise<void> {
  const root = join(palace.home, "project");
  write(root, DOCS);
  const { code, stderr } = await palace.run("mempalace-docs", [root, "--quiet"]);
  expect(code, stderr).toBe(0);
}

function ledgerClosets({ config }: TestPalace): Map<string, ChromaRow> {
  const database = new Database(config.paths.ledgerFile, { readonly: true });
  const rows = database
    .prepare<[], { id: string; text: string; metadata: string; vector: Buffer | null }>("SELECT * FROM closet")
    .all();
  database.close();
  return new Map(
    rows.map(({ id, text, metadata, vector }) => {
      const floats = vector === null ? [] : [...new Float32Array(Uint8Array.from(vector).buffer)];
      return [id, { text, metadata: JSON.parse(metadata) as Record<string, unknown>, vector: floats }];
    }),
  );
}

async function readme(memory: Pick<Mempalace, "call">): Promise<Record<string, unknown>> {
  const found = await memory.call("search", { query: "built the auth service with redis", limit: 3 });
  const hits = found["results"] as Record<string, unknown>[];
  const hit = hits.find(({ source_file: name }) => name === "README.md");
  expect(hit, JSON.stringify(found)).toBeDefined();
  return hit ?? {};
}

/** Asserts that each closet points at existing drawers of its own source that begin with the words of its topic. */
function assertOfTheirText({ config }: TestPalace): void {
  const database = new Database(config.paths.ledgerFile, { readonly: true });
  const textOf = database.prepare<[string, string], string>("SELECT text FROM drawer WHERE id = ? AND source_file = ?");
  const rows = database.prepare<[], { text: string; source_file: string }>("SELECT * FROM closet").all();
  for (const { text, source_file: source } of rows)
    for (const line of text.split("\n")) {
      const [topic = "", ...rest] = line.split("|");
      const pointers = (rest.at(-1) ?? "").slice(1).split(",");
      const texts = pointers.map((id) => textOf.pluck().get(id, source));
      expect(texts, line).not.toContain(undefined);
      if (!topic.includes("/"))
        expect(texts.join("").toLowerCase().replaceAll(/\s+/g, " ")).toContain(topic.replaceAll(/\s+/g, " "));
    }
  expect(rows.length).toBeGreaterThan(0);
  database.close();
}

const OPEN = `
import sys
from mempalace.palace import get_closets_collection
collection = get_closets_collection(sys.argv[1])
`;
const FOREIGN = `${OPEN}
source = collection.get(include=["metadatas"])["metadatas"][0]["source_file"]
collection.upsert(ids=["closet_proj_notes_llm_01", "closet_diary_0123456789abcdef01234567_01", "drawer_proj_notes_0"],
  documents=["a model's topic||→d1", "a day's topic||→d2", "0:ABC|compressed"],
  metadatas=[{"wing": "proj", "room": "notes", "source_file": "/elsewhere/x.md", "generated_by": "llm:some"},
    {"wing": "proj", "room": "daily", "source_file": "/diary/2026-01-02.md", "date": "2026-01-02"},
    {"wing": "proj", "room": "notes", "source_file": "", "compression_ratio": 3.0, "original_tokens": 12}])`;
const CHANGE = `${OPEN}
collection.delete(ids=["closet_proj_notes_llm_01"])
collection.upsert(ids=["drawer_proj_notes_0", "drawer_proj_notes_1"], documents=["0:ABCD|again", "1:EF|new"],
  metadatas=[{"wing": "proj", "room": "notes", "compression_ratio": 4.5}, {"wing": "proj", "room": "notes"}])`;
const LOSE = `
import chromadb, sys
chromadb.PersistentClient(sys.argv[1]).delete_collection("mempalace_closets")`;

async function settled(palace: TestPalace, count: number): Promise<void> {
  await inStep(palace);
  // `beforeAll` calls this function, too, and `expect.poll` works only in tests.
  await vi.waitFor(async () => expect((await status(palace)).closets).toEqual({ count, pending: 0, lag: 0 }), WAIT);
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: closets, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`MemPalace ${version}`, () => {
    it(
      "MemPalace reads the closets of our mining, and the closets improve the order of MemPalace's search",
      { timeout: 240_000 },
      async () => {
        await using palace = createScene();
        const { palaceDir } = palace.config.paths;
        await palace.startBroker();
        await mine(palace);
        await settled(palace, 3);
        const ours = ledgerClosets(palace);
        const mined = await palace.run("palace", ["stop"]);
        expect(mined.code).toBe(0);
        expectSame(ours, await dumpChroma(version, palace.home, palaceDir, CLOSETS));

        {
          await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
          const boosted = await readme(theirs);
          expect(boosted).toMatchObject({ matched_via: "drawer+closet", closet_boost: expect.any(Number) as number });
          expect(boosted["closet_boost"]).toBeGreaterThan(0);
          expect(boosted["closet_preview"]).toContain("built the auth service with redis");
        }

        // Deleting a source also deletes its closets in the public palace.
        await start(palace);
        await using agent = await palace.shim();
        const { source_path: source } = await readme({
          call: (tool, args) => agent.call(`mempalace_${tool}`, args ?? {}),
        });
        const deleted = await agent.call("mempalace_delete_by_source", { source_file: source, dry_run: false });
        expect(deleted).toMatchObject({ deleted: 2, closets_deleted: 1 });
        await settled(palace, 2);
        await palace.run("palace", ["stop"]);
        expectSame(ledgerClosets(palace), await dumpChroma(version, palace.home, palaceDir, CLOSETS));
      },
    );

    it("our memory adopts MemPalace's closets, including closets of other tools and changes made while no broker runs", async () => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      const root = join(palace.home, "project");
      write(root, { ...DOCS, "mempalace.yaml": "wing: proj\nrooms:\n  - name: notes\n    description: notes\n" });
      const mined = await runMempalace(version, ["--palace", palaceDir, "mine", root], { home: palace.home });
      expect(mined.code, mined.output).toBe(0);
      // Adds closets that upstream writes with a language model and for a day of a diary, and a compressed drawer.
      await python(version, palace.home, FOREIGN, [palaceDir]);
      const theirs = await dumpChroma(version, palace.home, palaceDir, CLOSETS);
      expect(theirs.size).toBeGreaterThanOrEqual(6);

      await palace.startBroker();
      await settled(palace, theirs.size);
      expectSame(ledgerClosets(palace), theirs);
      expect(await status(palace)).toMatchObject({ strays: { state: "clear" }, adoption: { state: "verified" } });
      {
        await using agent = await palace.shim();
        const hit = await readme({ call: (tool, args) => agent.call(`mempalace_${tool}`, args ?? {}) });
        expect(hit).toMatchObject({ matched_via: "drawer+closet", total_drawers: 2 });
      }
      await palace.run("palace", ["stop"]);
      expectSame(await dumpChroma(version, palace.home, palaceDir, CLOSETS), theirs);

      await python(version, palace.home, CHANGE, [palaceDir]);
      const changed = await dumpChroma(version, palace.home, palaceDir, CLOSETS);
      expect(changed.has("closet_proj_notes_llm_01")).toBe(false);
      await start(palace);
      await settled(palace, changed.size);
      expectSame(ledgerClosets(palace), changed);
    });
  });
}

describe.skipIf((await mempalaceMissing("3.11.0")) !== undefined)("closets", () => {
  it("closets are also sent to a Chroma server", async () => {
    const home = createTestPalace();
    await using _home = home;
    mempalaceEnv(home.home);
    const served = join(home.home, "served");
    await using chroma = await startPythonChroma("3.11.0", home.home, served);
    await using palace = createScene({ MEMPALACE_DRIVER: "chroma", MEMPALACE_CHROMA_URL: chroma.url });
    await palace.startBroker();
    await mine(palace);
    await settled(palace, 3);
    await chroma[Symbol.asyncDispose]();
    expectSame(ledgerClosets(palace), await dumpChroma("3.11.0", home.home, served, CLOSETS));
  });
});

const POINTS = [
  "commit.before-commit",
  "commit.after-sync",
  "closets.before-vectors",
  "files.before-commit",
  "outbox.after-send:2",
];

describe.skipIf((await mempalaceMissing("3.11.0")) !== undefined)("closets that were lost or half written", () => {
  // The tests share one palace. Each test stops the broker, and each kill comes while another text of the same document is filed.
  let palace: TestPalace;
  beforeAll(async () => {
    palace = createScene();
    await palace.startBroker();
    await mine(palace);
    await settled(palace, 3);
    await palace.run("palace", ["stop"]);
  });
  afterAll(() => palace[Symbol.asyncDispose]());

  it("closets that the public palace lost are sent to it again", async () => {
    await python("3.11.0", palace.home, LOSE, [palace.config.paths.palaceDir]);
    await start(palace);
    await settled(palace, 3);
    await palace.run("palace", ["stop"]);
    expectSame(ledgerClosets(palace), await dumpChroma("3.11.0", palace.home, palace.config.paths.palaceDir, CLOSETS));
  });

  it.each(POINTS)("closets match the filed text after a kill at %s", async (point) => {
    const broker = await palace.startBroker({ MEMPALACE_FAULT: point });
    const died = once(broker, "exit");
    const topic = `design of ${point.replaceAll(/\W/g, " ")}`;
    const docs = {
      ...DOCS,
      "README.md": `# Another ${topic}\n\nWe removed the auth service again. ${"Less of it. ".repeat(90)}`,
    };
    write(join(palace.home, "project"), docs);
    await palace.run("mempalace-docs", [join(palace.home, "project"), "--quiet"]);
    expect(await died).toEqual([null, "SIGKILL"]);
    assertOfTheirText(palace);

    await palace.startBroker();
    await palace.run("mempalace-docs", [join(palace.home, "project"), "--quiet"]);
    await settled(palace, 3);
    assertOfTheirText(palace);
    expect([...ledgerClosets(palace).values()].map(({ text }) => text).join("\n")).toContain(`another ${topic}`);
    await palace.run("palace", ["stop"]);
    expectSame(ledgerClosets(palace), await dumpChroma("3.11.0", palace.home, palace.config.paths.palaceDir, CLOSETS));
  });
});

it("palace repair closets rebuilds the closets of one wing or of all, and status counts them", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
  await palace.startBroker();
  writeFileSync(palace.config.paths.knownEntitiesFile, JSON.stringify({ people: ["plain words"] }));
  await mine(palace);
  const rows = (): object[] =>
    [...ledgerClosets(palace)].map(([id, { text, metadata }]) => ({ id, text, entities: metadata["entities"] }));
  const before = rows();
  expect(before).toContainEqual(expect.objectContaining({ entities: "plain words" }));
  const database = new Database(palace.config.paths.ledgerFile);
  database.exec("DELETE FROM closet");
  database.close();
  expect((await status(palace)).closets.count).toBe(0);
  const elsewhere = await palace.run("palace", ["closets", "rebuild", "--wing", "elsewhere", "--json"]);
  expect(JSON.parse(elsewhere.stdout)).toEqual({ sources: 0, closets: 0, kept: 0 });
  const done = await palace.run("palace", ["closets", "rebuild", "--json"]);
  expect(JSON.parse(done.stdout)).toEqual({ sources: 3, closets: 3, kept: 0 });
  expect(rows()).toEqual(before);
  expect((await palace.run("palace", ["status"])).stdout).toMatch(
    /closets\t3 closets that point at drawers, 3 still to embed\n/,
  );
  expect(await palace.run("palace", ["closets", "burn"])).toMatchObject({ code: 2 });
});
