/** Tests of sync on real files. Sync distinguishes deleted sources from unreadable sources, and never removes the unreadable ones. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSourceFiles } from "../../../src/broker/palace/source-files.ts";
import { reportSync } from "../../../src/memory/source/sync.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

const sourceFiles = openSourceFiles("/nowhere");

let folder: string, project: string, writer: LedgerWriter, reader: SqliteLedgerReader;
let count = 0;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sync-")));
  project = join(folder, "project");
  mkdirSync(join(project, "sub"), { recursive: true });
  for (const name of ["kept.md", "x.log", "sub/ignored.md", "sub/important.log"])
    writeFileSync(join(project, name), "x");
  writeFileSync(join(project, ".gitignore"), "*.log\n");
  writeFileSync(join(project, "sub/.gitignore"), "/ignored.md\n!important.log\n");
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true });
});

function write(method: string, params: Record<string, unknown>, findings?: unknown): Record<string, unknown> {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++count}`, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
  const [done] = writer.commit([{ ...call, ...(findings !== undefined && { findings }) }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Record<string, unknown>;
}

const file = (source: string, wing = "w"): unknown =>
  write("add_drawer", {
    wing,
    room: "r",
    content: `of ${source.slice(0, 100)}…${source.slice(-100)} in ${wing}`,
    source_file: source,
  });
const sync = async (params: Record<string, unknown>): Promise<Record<string, unknown>> =>
  write("sync", params, await reportSync(reader, sourceFiles, params));

test("the report of sync counts drawers whose source is kept, ignored, missing, unreadable or elsewhere, and drawers without a source", async () => {
  for (const name of ["kept.md", "x.log", "sub/ignored.md", "sub/important.log", "gone.md", "away/only.md"])
    file(join(project, name));
  for (const source of ["", "notes.txt", "/nowhere/at/all.md"]) file(source);
  const unresolved = { [join(project, "away/only.md")]: 1 };
  // The default project is the nearest folder with a .git or a .gitignore, as in upstream.
  expect(await sync({})).toMatchObject({ scanned: 9, kept: 2, out_of_scope: 1 });
  expect(await sync({ project_dir: project })).toEqual({
    success: true,
    ...{ scanned: 9, kept: 2, gitignored: 2, missing: 1, unresolved: 1, no_source: 2, out_of_scope: 1 },
    ...{ removed_drawers: 0, removed_closets: 0, dry_run: true },
    by_source: Object.fromEntries(["x.log", "sub/ignored.md", "gone.md"].map((name) => [join(project, name), 1])),
    unresolved_by_source: unresolved,
  });
  expect(reader.drawerCount()).toBe(9);
});

test("sync with `apply` removes only missing and ignored sources of the given wing, and it needs a wing or project", async () => {
  for (const wing of ["w", "v"]) for (const name of ["kept.md", "x.log", "gone.md"]) file(join(project, name), wing);
  expect(await sync({ apply: true })).toMatchObject({
    success: false,
    error: expect.stringContaining("wing=") as string,
  });
  expect(await sync({ apply: true, wing: "w" })).toMatchObject({ removed_drawers: 2, dry_run: false });
  expect(reader.places().map(({ wing, drawers }) => [wing, drawers])).toEqual([
    ["v", 3],
    ["w", 1],
  ]);
  expect(await sync({ apply: true, project_dir: project })).toMatchObject({ removed_drawers: 2 });
  expect(reader.drawerCount()).toBe(2);
});

test("sync does not remove a drawer that was filed after sync's report", async () => {
  for (const name of ["kept.md", "gone.md"]) file(join(project, name));
  const params = { apply: true, wing: "w" };
  const findings = await reportSync(reader, sourceFiles, params);
  write("add_drawer", { wing: "w", room: "r", content: "it is back", source_file: join(project, "gone.md") });
  expect(write("sync", params, findings)).toMatchObject({ removed_drawers: 1 });
  expect(reader.listDrawers({}, 10, 0).drawers.map(({ text }) => text)).toContain("it is back");
});

test("a replaced folder, such as an empty mount point, does not prove that its files are deleted", async () => {
  file(join(project, "kept.md"));
  const source = join(project, "gone.md");
  const inode = String(statSync(dirname(source)).ino);
  const ours = reader.listDrawers({}, 1, 0).drawers[0];
  expect(ours).toBeDefined();
  const groups = (directoryId: string) => ({
    sourceGroups: () => [
      { sourceFile: join(project, "kept.md"), directoryId: null, isRegistry: false, drawers: 1, lastRow: 1 },
      { sourceFile: source, directoryId, isRegistry: false, drawers: 1, lastRow: 1 },
    ],
  });
  const report = async (id: string) => (await reportSync(groups(id) as never, sourceFiles, {})).report;
  expect(await report(inode)).toMatchObject({ missing: 1, unresolved: 0 });
  expect(await report("1")).toMatchObject({ missing: 0, unresolved: 1 });
});

test("sync removes the filing record of a removed source, so its feeder files the source again", async () => {
  const source = { wing: "w", room: "r", sourceFile: join(project, "gone.md"), mtime: 1, sha256: "ab", addedBy: "t" };
  file(join(project, "kept.md"));
  write("source.replace", { ...source, content: "a document that is long enough to become a drawer of its own here" });
  expect(reader.sources("w")).toHaveLength(1);
  expect(await sync({ apply: true, wing: "w" })).toMatchObject({ missing: 1, removed_drawers: 1 });
  expect(reader.sources("w")).toEqual([]);
});

/** Returns the real files, and a list that records the folders that were looked up. */
function counting(): { files: typeof sourceFiles; asked: string[] } {
  const asked: string[] = [];
  return {
    files: { ...sourceFiles, isProject: (folder) => asked.push(folder) > 0 && sourceFiles.isProject(folder) },
    asked,
  };
}

/** Returns how many turns of the event loop other work got during `work`. `turns` returns the number so far. */
async function whileCounting(work: (turns: () => number) => Promise<unknown>): Promise<number> {
  let [turns, isOver] = [0, false];
  const counted = (async () => {
    for (; !isOver; turns += 1) await turn();
  })();
  await work(() => turns).finally(() => (isOver = true));
  await counted;
  return turns;
}

test("an impossible name does not stop sync, and a name too long for a path is not looked up", async () => {
  file(join(project, "kept.md"));
  file(`/${"x".repeat(300)}/a.md`);
  write("add_drawer", { wing: "w", room: "r", content: "of a name with a NUL", source_file: "/a\0b/c.md" });
  expect(await sync({})).toMatchObject({ success: true, scanned: 3, kept: 1 });
  file("/".repeat(100_000));
  const { files, asked } = counting();
  const { report } = await reportSync(reader, files, {});
  expect(report).toMatchObject({ scanned: 4, kept: 1, unresolved: 3 });
  expect(JSON.stringify(report).length).toBeLessThan(2_000);
  expect(asked.length).toBeLessThan(10);
});

test("sync looks up a folder once for many sources", async () => {
  const deep = join(folder, "gone", ...Array.from({ length: 300 }, () => "a"));
  for (let at = 0; at < 20; at++) file(join(deep, `${at}.md`));
  const { files, asked } = counting();
  await reportSync(reader, files, {});
  expect(asked.length).toBe(new Set(asked).size);
  expect(asked.length).toBeGreaterThan(300);
});

test("other requests run while sync looks up folders and reads ignore rules", async () => {
  for (let at = 0; at < 10; at++) file(`/gone-${at}${"/a".repeat(2_000)}/b.md`);
  const seen = new Set<number>();
  await whileCounting((turns) => {
    const isProject = (one: string): boolean => seen.add(turns()).size > 0 && sourceFiles.isProject(one);
    return reportSync(reader, { ...sourceFiles, isProject }, {});
  });
  expect(seen.size).toBeGreaterThan(3);
  file(join(project, "kept.md"), "v");
  writeFileSync(join(project, ".gitignore"), "a\n".repeat(200_000));
  const turns = await whileCounting(() => reportSync(reader, sourceFiles, { project_dir: project, wing: "v" }));
  expect(turns).toBeGreaterThan(3);
});

test("if the ignore rules above a file have more than 1 MiB, sync leaves the file's drawers unresolved", async () => {
  for (const name of ["x.log", "sub/ignored.md", "sub/important.log"]) file(join(project, name));
  writeFileSync(join(project, ".gitignore"), `${"# a\n".repeat(200_000)}*.log\n`);
  const asked = { project_dir: project };
  expect(await sync(asked)).toMatchObject({ kept: 1, gitignored: 2 });
  writeFileSync(join(project, "sub/.gitignore"), `${"# a\n".repeat(100_000)}/ignored.md\n`);
  expect(await sync(asked)).toMatchObject({ kept: 0, gitignored: 1, unresolved: 2 });
});
