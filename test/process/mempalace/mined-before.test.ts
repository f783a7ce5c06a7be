import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import {
  mempalaceMissing,
  type MempalaceVersion,
  MEMPALACE_VERSIONS,
  python,
  runMempalace,
} from "../../helpers/python-mempalace.ts";

/** Modification time of the files, seconds. It is before upstream's mine and before the date that the drawers get. */
const WRITTEN_S = Date.parse("2024-03-01T12:00:00Z") / 1000;
const FILED_AT = "2024-03-05T10:00:00.123456";

const REDATE = `
import chromadb, sys
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None)
got = collection.get(include=["metadatas"])
dated = [{**m, **{k: sys.argv[2] for k in ("filed_at", "last_modified", "authored_at") if k in m}} for m in got["metadatas"]]
collection.update(ids=got["ids"], metadatas=dated)`;

const NOTES = Object.fromEntries(
  ["one", "two", "three"].map((name) => [`${name}.md`, `# Notes\n\nWhat ${name} said of the harbour. `.repeat(6)]),
);
const TALKS = Object.fromEntries(
  ["mon", "tue"].map((day) => [
    `${day}.txt`,
    `> What did we decide on ${day}?\nWe decided on lamps instead of buoys because it is simple, and I prefer them lit all night.\n\n`.repeat(
      4,
    ),
  ]),
);

type Mining = { version: MempalaceVersion; files: Record<string, string>; theirs: string[]; ours: string[] };

/** Lets MemPalace mine a folder into a palace, and gives the drawers an older date. Our broker has not opened the palace yet. */
async function mined(palace: TestPalace, { version, files, theirs }: Mining): Promise<string> {
  const root = join(palace.home, "My-Notes");
  mkdirSync(root);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(root, name), text);
    utimesSync(join(root, name), WRITTEN_S, WRITTEN_S);
  }
  const home = palace.home;
  const { palaceDir } = palace.config.paths;
  const first = await runMempalace(version, ["--palace", palaceDir, "mine", root, ...theirs], { home });
  expect(first.code, first.output).toBe(0);
  await python(version, home, REDATE, [palaceDir, FILED_AT]);
  return root;
}

async function mine(palace: TestPalace, args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await palace.run("palace", ["mine", ...args, "--json"]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Returns the closets except the closets of the file `but`. */
function closetsOf({ config }: TestPalace, but: string): unknown[] {
  const ledger = new Database(config.paths.ledgerFile, { readonly: true });
  const rows = ledger
    .prepare("SELECT id, text, metadata FROM closet WHERE source_file NOT LIKE ? ORDER BY id")
    .all(`%/${but}`);
  ledger.close();
  return rows;
}

const datesOf = (rows: Map<string, Row>, file: string): unknown[] =>
  [...rows.values()].flatMap(({ metadata }) =>
    String(metadata["source_file"]).endsWith(`/${file}`) ? [String(metadata["filed_at"]).slice(0, 10)] : [],
  );

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: what was mined before, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`after MemPalace ${version}`, () => {
    const convos = ["--mode", "convos"];
    const MININGS: Record<string, Mining> = {
      "a project": {
        version,
        files: NOTES,
        theirs: ["--wing", "kept wing"],
        ours: ["projects", "--wing", "kept wing"],
      },
      "a project by its folder's name": { version, files: NOTES, theirs: [], ours: ["projects"] },
      transcripts: { version, files: TALKS, theirs: convos, ours: ["convos"] },
      "memories of transcripts": {
        ...{ version, files: TALKS },
        ...{ theirs: [...convos, "--extract", "general"], ours: ["convos", "--extract", "general"] },
      },
    };
    for (const [what, mining] of Object.entries(MININGS))
      it(`our miner keeps the drawers of unchanged files: ${what}`, { timeout: 300_000 }, async () => {
        await using palace = createTestPalace();
        const root = await mined(palace, mining);
        const theirs = await upstreamRows(version, palace.home, palace.config.paths.palaceDir);
        expect(theirs.size).toBeGreaterThan(0);
        const [name = "", ...options] = mining.ours;
        const count = Object.keys(mining.files).length;
        // No broker has run yet. The mine starts one and waits until it has adopted the palace.
        const first = await mine(palace, [name, root, ...options]);
        expect(first).toMatchObject({ files: count, filed: 0, unchanged: count, drawers: 0 });
        expect(ourRows(palace)).toEqual(theirs);
        const [changed = "", ...others] = Object.keys(mining.files);
        const closets = closetsOf(palace, changed);
        appendFileSync(
          join(root, changed),
          `${mining.files[changed] ?? ""}And more was said of the harbour after that, because we decided so.\n`,
        );
        expect(await mine(palace, [name, root, ...options])).toMatchObject({ filed: 1, unchanged: count - 1 });
        const rows = ourRows(palace);
        expect(datesOf(rows, changed)).not.toHaveLength(0);
        expect(new Set(datesOf(rows, changed))).not.toEqual(new Set(["2024-03-05"]));
        for (const other of others) expect(new Set(datesOf(rows, other))).toEqual(new Set(["2024-03-05"]));
        expect(closetsOf(palace, changed)).toEqual(closets);
        expect(await mine(palace, [name, root, ...options])).toMatchObject({ filed: 0, unchanged: count });
        expect(ourRows(palace)).toEqual(rows);

        expect(await mine(palace, [name, root, ...options, "--force"])).toMatchObject({ filed: count });
        expect(await mine(palace, [name, root, ...options])).toMatchObject({ filed: 0, unchanged: count });
      });
  });
}

it("a transcript without times keeps the dates of its drawers while its text stays the same", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  mkdirSync(root);
  writeFileSync(join(root, "mon.txt"), TALKS["mon.txt"] ?? "");
  await mine(palace, ["convos", root]);
  const before = ourRows(palace);
  expect(await mine(palace, ["convos", root, "--force"])).toMatchObject({ drawers: 0, kept: before.size });
  expect(ourRows(palace)).toEqual(before);
});
