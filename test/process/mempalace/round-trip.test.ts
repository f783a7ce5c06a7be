/** Tests a palace that MemPalace and we write in turns. At first all its rows are in MemPalace's queue, as mining leaves them. */
import { once } from "node:events";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readChroma, readCollections } from "../../../src/mempalace/format/chroma-file.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { cachedPalace, type ChromaRow, dumpChroma, FOUND_BY_OWN_VECTOR_MIN } from "../../helpers/python-chroma.ts";
import {
  chromaOf,
  MEMPALACE_VERSIONS,
  mempalaceEnv,
  mempalaceMissing,
  type MempalaceVersion,
  openMempalace,
  python,
  runMempalace,
} from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";
import { seededRandom } from "../../helpers/random.ts";

/** Size of the project that each version mines. A file of 60 paragraphs makes about 60 drawers. */
const MINED = { files: 18, paragraphs: 60 };
const DRAWERS_MIN = 2_000;
const OURS = 400;
/** Minimum number of drawers that each version files when it mines again. */
const THEIRS_MIN = 50;
const TIMEOUT_MS = 900_000;

const missing = (await Promise.all(MEMPALACE_VERSIONS.map(mempalaceMissing))).find((why) => why !== undefined);
if (missing !== undefined) console.log(`left out: the round trip (${missing})`);

/** Makes a home with MemPalace's model, so that both sides make the same vectors. */
async function createScene(): Promise<TestPalace> {
  const palace = createTestPalace();
  mempalaceEnv(palace.home);
  const name = `${mine.toString()} ${proseOf.toString()} ${JSON.stringify(MINED)}`;
  await cachedPalace(name, palace.config.paths.palaceDir, async (home, made) => {
    for (const version of MEMPALACE_VERSIONS) await mine(version, { home, palaceDir: made, ...MINED });
  });
  return palace;
}

type Mine = { home: string; palaceDir: string; files: number; paragraphs: number; word?: string };

/** Lets MemPalace `version` mine its own project, in which each paragraph has a unique word. */
async function mine(version: MempalaceVersion, { home, palaceDir, files, paragraphs, word }: Mine): Promise<void> {
  const root = join(home, `project-${version}-${word ?? ""}`);
  mkdirSync(root);
  for (let file = 0; file < files; file++) {
    const seeds = Array.from({ length: paragraphs }, (_, at) => file * paragraphs + at);
    const text = seeds.map((seed) => `${word ?? `v${version.replaceAll(".", "")}`}${seed}x ${proseOf(seed, 100)}`);
    writeFileSync(join(root, `notes-${file}.md`), text.join("\n\n"));
  }
  const args = ["--palace", palaceDir, "mine", root, "--wing", "mined"];
  const { code, output } = await runMempalace(version, args, { home });
  expect(code, output).toBe(0);
}

/** Dumps a copy of the palace with the Chroma of MemPalace `version`. Opening a palace writes to it, hence the copy. */
async function dumpCopy(version: MempalaceVersion, { home, config }: TestPalace): Promise<Map<string, ChromaRow>> {
  const copy = join(home, `copy-${version}`);
  cpSync(config.paths.palaceDir, copy, { recursive: true });
  try {
    return await dumpChroma(version, home, copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Makes unique words. The tiny model ignores the order of letters, and an index loses more rows if several rows have the same vector. */
function proseOf(seed: number, words: number): string {
  const random = seededRandom(seed);
  const letter = (): string => String.fromCharCode(97 + Math.floor(random() * 26));
  return Array.from({ length: words }, () => Array.from({ length: 6 }, letter).join("")).join(" ");
}

async function startKilled(palace: TestPalace, fault: string): Promise<void> {
  const broker = await palace.startBroker({ MEMPALACE_FAULT: fault });
  expect(await exitOf(broker), fault).toEqual([null, "SIGKILL"]);
}

/** Counts the rows that are not yet in the index on disk. */
function tailOf(palaceDir: string): number {
  const count = readChroma(palaceDir, 5_000, (palace) => {
    const [collection] = readCollections(palace);
    return palace
      .prepare<[string, string], number>(
        "SELECT count(*) FROM embeddings_queue WHERE topic LIKE '%' || ? AND seq_id > coalesce((SELECT seq_id FROM max_seq_id WHERE segment_id = ?), 0)",
      )
      .pluck()
      .get(collection?.id ?? "", collection?.vectorSegment ?? "");
  });
  return count ?? 0;
}

/** Script that counts our drawers: all, those that are found by their unique word, and those that are found by their vector. */
const FIND = `
import chromadb, json, sys
c = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None)
g = c.get(where={"wing": "ours"}, include=["embeddings", "documents"])
worded = sum(c.get(where_document={"$contains": text.split(" ")[1]}, include=[])["ids"] == [id] for id, text in zip(g["ids"], g["documents"]))
near = c.query(query_embeddings=g["embeddings"], n_results=10)
print(json.dumps([len(g["ids"]), worded, sum(id in ids for id, ids in zip(g["ids"], near["ids"]))]))`;

/** Uses MemPalace `version` as a user does: mines a project, files, changes and deletes a drawer, and writes in the diary. */
async function changeBy(
  version: MempalaceVersion,
  { home, config }: TestPalace,
  ids: readonly string[],
): Promise<void> {
  const { palaceDir } = config.paths;
  const word = `pyword${version.replaceAll(".", "")}n`;
  await mine(version, { home, palaceDir, files: 1, paragraphs: 60, word });
  const [changed = "", deleted = ""] = ids;
  await using theirs = await openMempalace(version, { home, palace: palaceDir });
  const added = { wing: "theirs", room: "r", content: `python ${version} wrote this by hand` };
  for (const [tool, args] of [
    ["add_drawer", added],
    ["update_drawer", { drawer_id: changed, content: `changed by python ${version}` }],
    ["delete_drawer", { drawer_id: deleted }],
    ["diary_write", { agent_name: "snake", entry: `SESSION: ${version} wrote a diary`, topic: "t" }],
  ] as const)
    expect(await theirs.call(tool, args), `${tool} of ${version}`).toMatchObject({ success: true });
}

describe.skipIf(missing !== undefined)("a palace of 2,000 mined drawers", () => {
  it(
    "a palace of 2,000 mined drawers is adopted and written by us, found whole and changed by both versions, and adopted again",
    { timeout: TIMEOUT_MS },
    async () => {
      await using palace = await createScene();
      const { palaceDir } = palace.config.paths;
      expect(tailOf(palaceDir)).toBeGreaterThan(0);
      const before = await dumpCopy("3.11.0", palace);
      expect(before.size).toBeGreaterThan(DRAWERS_MIN);

      // The broker adopts the palace and is killed twice while it does.
      for (const point of ["after-row:700", "before-commit:3"]) await startKilled(palace, `take-over.${point}`);
      await palace.startBroker();
      expect((await inStep(palace)).adoption).toMatchObject({ state: "verified", rows: before.size });
      expectSame(ledgerRows(palace), before);
      await palace.run("palace", ["stop"]);

      // Agents write, and the broker is killed twice inside a transaction. The agents only notice a delay.
      for (const [half, point] of ["after-queue:150", "before-commit:2"].entries()) {
        const broker = await palace.startBroker({ MEMPALACE_FAULT: `files.${point}` });
        const died = once(broker, "exit");
        await using shim = await palace.shim();
        const add = (n: number): Promise<unknown> =>
          shim.call("mempalace_add_drawer", {
            wing: "ours",
            room: "notes",
            content: `ours ourword${n}x ${proseOf(n, 12)}`,
          });
        const work = (async () => {
          for (let from = 0; from < OURS / 2; from += 100)
            await Promise.all(Array.from({ length: 100 }, (_, n) => add((half * OURS) / 2 + from + n)));
        })();
        expect(await died, point).toEqual([null, "SIGKILL"]);
        await palace.startBroker();
        await work;
        await inStep(palace);
        await palace.run("palace", ["stop"]);
      }
      const rows = ledgerRows(palace);
      expect(rows.size).toBe(before.size + OURS);

      // Both versions come with the same Chroma, so one dump, of the last copy, is enough.
      expect(chromaOf("3.3.6")).toBe(chromaOf("3.11.0"));
      const copies = MEMPALACE_VERSIONS.map((version) => join(palace.home, `asked-${version}`));
      for (const [at, version] of MEMPALACE_VERSIONS.entries()) {
        const copy = copies[at] ?? "";
        cpSync(palaceDir, copy, { recursive: true });
        await using theirs = await openMempalace(version, { home: palace.home, palace: copy });
        // MemPalace must count all rows even at its first call, before any process has opened the index.
        expect(await theirs.call("status"), version).toMatchObject({ total_drawers: rows.size });
      }
      const copy = copies.at(-1) ?? "";
      const found = await python("3.11.0", palace.home, FIND, [copy]);
      const [count, worded, near = 0] = JSON.parse(found) as number[];
      expect([count, worded]).toEqual([OURS, OURS]);
      expect(near).toBeGreaterThan(FOUND_BY_OWN_VECTOR_MIN * OURS);
      expectSame(rows, await dumpChroma("3.11.0", palace.home, copy));
      for (const one of copies) rmSync(one, { recursive: true });

      const mined = [...before.keys()];
      for (const [turn, version] of MEMPALACE_VERSIONS.entries()) {
        const ids = mined.slice(turn * 2, turn * 2 + 2);
        await changeBy(version, palace, ids);
        const changed = await dumpCopy(version, palace);
        expect(changed.get(ids[0] ?? "")?.text).toBe(`changed by python ${version}`);
        expect(changed.has(ids[1] ?? "")).toBe(false);
        await palace.run("palace", ["start"]);
        await inStep(palace);
        expectSame(ledgerRows(palace), changed);
        await using shim = await palace.shim();
        const found = await Promise.all(
          Array.from({ length: THEIRS_MIN }, async (_, n) => {
            const word = `pyword${version.replaceAll(".", "")}n${n}x`;
            return JSON.stringify(await shim.call("mempalace_search", { query: word, limit: 3 })).includes(word);
          }),
        );
        expect(found.filter(Boolean), version).toHaveLength(THEIRS_MIN);
        await palace.run("palace", ["stop"]);
      }
    },
  );
});
