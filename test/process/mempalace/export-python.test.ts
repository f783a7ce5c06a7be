import { cpSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createScene, fill } from "../../helpers/export-scene.ts";
import type { TestPalace } from "../../helpers/palace.ts";
import { type ChromaRow, dumpChroma } from "../../helpers/python-chroma.ts";
import {
  chromaOf,
  MEMPALACE_VERSIONS,
  mempalaceBin,
  mempalaceMissing,
  type MempalaceVersion,
  openMempalace,
} from "../../helpers/python-mempalace.ts";
import { expectSame, ledgerRows } from "../../helpers/python-rows.ts";

const left = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes("export"));

const [version] = MEMPALACE_VERSIONS;
const missing = (await Promise.all(MEMPALACE_VERSIONS.map(mempalaceMissing))).find((why) => why !== undefined);
if (missing !== undefined) console.log(`left out: export (${missing})`);

/** More drawers than the threshold at which Chroma writes its index to disk. */
const INDEXED = 1_100;
const MINED = "project";
/** Two file times of which Chroma's server changes the last bit. It does so with nine in a hundred file times. */
const TIMES_S = [1795417799.9044359, 1795417812.7709341];

/** Mines a document for each of TIMES_S. */
async function mineTimes(palace: TestPalace): Promise<void> {
  const folder = join(palace.home, MINED);
  mkdirSync(folder);
  for (const [at, seconds] of TIMES_S.entries()) {
    const file = join(folder, `${at}.md`);
    writeFileSync(file, `number ${at} of some notes that are long enough to be filed as a document of their own`);
    utimesSync(file, seconds, seconds);
  }
  expect(await palace.run("palace", ["mine", "projects", folder])).toMatchObject({ code: 0 });
}

type Rows = Map<string, ChromaRow>;
const areMined = ([, { metadata }]: [string, ChromaRow]): boolean => metadata["wing"] === MINED;

describe.skipIf(missing !== undefined)("MemPalace of either version", () => {
  let palace: TestPalace, dir: string, report: Record<string, unknown>, rows: Rows, exported: Rows;

  beforeAll(async () => {
    palace = createScene();
    await palace.startBroker();
    await mineTimes(palace);
    await fill(palace, INDEXED);
    rows = ledgerRows(palace);
    dir = join(palace.home, "there/exported");
    await using shim = await palace.shim();
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; isWriting; n++)
        await shim.call("mempalace_add_drawer", { wing: "later", room: "r", content: `while it ran ${n}` });
    })();
    const args = ["export", dir, "--chroma", mempalaceBin(version, "chroma"), "--json"];
    const { code, stdout, stderr } = await palace.run("palace", args);
    isWriting = false;
    await writing;
    expect([code, stderr]).toEqual([0, ""]);
    report = JSON.parse(stdout) as Record<string, unknown>;
    // Dumps a copy, because Chroma changes the folder. One version of MemPalace is enough, because both versions use the same Chroma.
    expect(chromaOf("3.3.6")).toBe(chromaOf("3.11.0"));
    const copy = join(palace.home, "dumped");
    cpSync(dir, copy, { recursive: true });
    exported = await dumpChroma(version, palace.home, copy);
  });
  afterAll(() => palace[Symbol.asyncDispose]());

  it("MemPalace opens, counts, lists and searches an export made while an agent wrote, and finds the graph", async () => {
    expect(report).toMatchObject({ dir, writer: "chroma", graph: { facts: 1, tunnels: 1 }, events: 1 });
    for (const one of MEMPALACE_VERSIONS)
      await expectOpens(one, palace.home, { dir, drawers: Number(report["drawers"]) });
  });

  it("an export has every row that was filed before the export, and all its other rows were filed during the export", () => {
    expect(exported.size).toBe(report["drawers"]);
    const [before, later] = [
      [...exported].filter(([id]) => rows.has(id)),
      [...exported].filter(([id]) => !rows.has(id)),
    ];
    for (const [, { text }] of later) expect(text).toContain("while it ran");
    const withoutMined = (some: Iterable<[string, ChromaRow]>): Rows =>
      new Map([...some].filter((row) => !areMined(row)));
    expectSame(withoutMined(rows), withoutMined(before));
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(["chroma.sqlite3", "tunnels.json"]));
    expect(left(join(palace.home, "there"))).toEqual(["exported"]);
  });

  it("an export keeps file times with an error of less than a microsecond", () => {
    const mined = [...exported].filter(areMined);
    const times = mined.map(([, { metadata }]) => Number(metadata["source_mtime"])).sort();
    expect(times.map((time, at) => Math.abs(time - (TIMES_S[at] ?? 0)) < 1e-6)).toEqual([true, true]);
  });
});

/** Opens a copy of the export with version `by` of MemPalace, because MemPalace changes the folder. */
async function expectOpens(
  by: MempalaceVersion,
  home: string,
  { dir, drawers }: { dir: string; drawers: number },
): Promise<void> {
  const copy = join(home, `there-${by}`);
  cpSync(dir, copy, { recursive: true });
  await using theirs = await openMempalace(by, { home, palace: copy });
  expect(await theirs.call("status"), by).toMatchObject({ total_drawers: drawers });
  expect(JSON.stringify(await theirs.call("list_rooms", { wing: "w0" }))).toContain("long");
  const found = await theirs.call("search", { query: "our note 7, ä 日本 👩‍👩‍👧", wing: "w1", limit: 1 });
  expect(JSON.stringify(found)).toContain("our note 7,");
  expect(JSON.stringify(await theirs.call("kg_query", { entity: "Alice" }))).toContain("Acme");
  expect(JSON.stringify(await theirs.call("diary_read", { agent_name: "me" }))).toContain("dear diary");
  if (by !== "3.3.6") expect(JSON.stringify(await theirs.call("event_list"))).toContain("an event of ours");
  const added = await theirs.call("add_drawer", { wing: "theirs", room: "r", content: "theirs" });
  expect(added).toMatchObject({ success: true });
}
