/** Compares rows as Python prints them, because Python distinguishes 1 from 1.0. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import {
  mempalaceBin,
  MEMPALACE_VERSIONS,
  mempalaceEnv,
  mempalaceMissing,
  python,
} from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const [, version] = MEMPALACE_VERSIONS;
const missing = await mempalaceMissing(version);
const LIMIT = { timeout: 180_000 };

const FILL = `
import ast, chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
rows = ast.literal_eval(sys.argv[2])
collection = chromadb.PersistentClient(sys.argv[1]).get_or_create_collection("mempalace_drawers",
  embedding_function=DefaultEmbeddingFunction(), metadata={"hnsw:space": "cosine"})
collection.add(ids=list(rows), documents=[f"the text of {i}" for i in rows], metadatas=list(rows.values()))`;

const DUMP = `
import chromadb, json, sys
got = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None).get()
print(json.dumps({i: json.dumps(m, sort_keys=True) for i, m in zip(got["ids"], got["metadatas"])}))`;

async function dump({ home }: TestPalace, folder: string): Promise<Record<string, string>> {
  return JSON.parse(await python(version, home, DUMP, [folder])) as Record<string, string>;
}

/** Makes a palace of the given rows and adopts it. `rows`: JSON as Python writes it. */
async function adopted(rows: string): Promise<TestPalace> {
  const palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
  mempalaceEnv(palace.home);
  await python(version, palace.home, FILL, [palace.config.paths.palaceDir, rows]);
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  await inStep(palace);
  return palace;
}

async function run(palace: TestPalace, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await palace.run("palace", args);
  expect({ verb: args[0], code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

/** Asserts that the rows survive an update of the room of `a`, an export, and a repair. */
async function expectKept(palace: TestPalace, isSendable = true): Promise<void> {
  const { palaceDir } = palace.config.paths;
  const before = await dump(palace, palaceDir);
  await run(palace, "call", "update_drawer", '{"drawer_id":"a","room":"moved"}');
  await inStep(palace);
  const { last_modified: _now, ...updated } = JSON.parse((await dump(palace, palaceDir))["a"] ?? "") as object & {
    last_modified: string;
  };
  expect(updated).toEqual({ ...(JSON.parse(before["a"] ?? "") as object), room: "moved" });
  const [byFiles, byChroma] = [join(palace.home, "by-files"), join(palace.home, "by-chroma")];
  await run(palace, "export", byFiles, "--without-chroma");
  const throughServer = ["export", byChroma, "--chroma", mempalaceBin(version, "chroma")];
  if (isSendable) await run(palace, ...throughServer);
  else expect((await palace.run("palace", throughServer)).stderr).toContain("cannot send its key __proto__");
  await run(palace, "repair");
  await run(palace, "stop");
  for (const folder of [byFiles, ...(isSendable ? [byChroma] : []), palaceDir]) {
    const { a, ...others } = await dump(palace, folder);
    expect(others).toEqual(Object.fromEntries(Object.entries(before).filter(([id]) => id !== "a")));
    expect(JSON.parse(a ?? "")).toEqual({ ...updated, last_modified: expect.any(String) });
  }
}

describe.skipIf(missing !== undefined)("rows that another program wrote through Chroma", () => {
  it("rows that another program wrote keep the lists in their metadata", LIMIT, async () => {
    const lists = '"tags": ["a", "b"], "n": [3, 1, 2], "f": [1.0, 2.5], "on": [True, False], "one": ["\u{1f40b}"]';
    await using palace = await adopted(
      `{"a": {"wing": "w", "room": "r", ${lists}}, "b": {"wing": "w", "room": "r", "x": 1, ${lists}}}`,
    );
    await expectKept(palace);
    await run(palace, "start");
    expect(await run(palace, "call", "get_drawer", '{"drawer_id":"b"}')).toMatch(/"tags":\s*\["a",\s*"b"\]/);
  });

  it(
    "rows that another program wrote keep a wing that is a number, and stay without a wing if they had none",
    LIMIT,
    async () => {
      await using palace = await adopted(
        '{"a": {"wing": 7, "x": "y"}, "b": {"wing": 7, "room": "r"}, "c": {"x": "y"}}',
      );
      await expectKept(palace);
      await run(palace, "start");
      const answer = await run(palace, "call", "update_drawer", '{"drawer_id":"c","content":"other words"}', "--json");
      expect(JSON.parse(answer)).toMatchObject({ success: true, wing: "", room: "" });
      await run(palace, "call", "update_drawer", '{"drawer_id":"b","wing":"named"}');
      await inStep(palace);
      await run(palace, "stop");
      const rows = await dump(palace, palace.config.paths.palaceDir);
      expect(Object.keys(JSON.parse(rows["c"] ?? "") as object)).toEqual(["last_modified", "x"]);
      expect(JSON.parse(rows["b"] ?? "")).toMatchObject({ wing: "named", room: "r" });
    },
  );

  it("rows that another program wrote keep metadata keys such as __proto__ and constructor", LIMIT, async () => {
    const names = '"__proto__": "p", "constructor": "c", "toString": 1';
    await using palace = await adopted(
      `{"a": {"wing": "w", "room": "r", ${names}}, "b": {"wing": "w", "__proto__": ["x", "y"]}, "c": {"__proto__": "alone"}}`,
    );
    await expectKept(palace, false);
  });

  it("doctor counts the rows whose numbers an export or a repair would write differently", LIMIT, async () => {
    await using palace = await adopted(
      '{"a": {"f": 1.0, "l": [2.0]}, "b": {"big": 9007199254740992}, "c": {"l": [-1152921504606846976]}, "d": {"f": 0.5, "n": 9007199254740991}, "e": {"source_mtime": 3.0}}',
    );
    expect(await run(palace, "doctor")).toContain("but 3 rows have numbers that an export or a repair writes in");
    await run(palace, "stop");
  });
});
