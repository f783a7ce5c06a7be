import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createProject, feed, PARAGRAPH, put } from "../../helpers/documents.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";

/** Returns the number of drawers in the palace for each `source_file`. */
async function drawersOf(palace: TestPalace, wing: string): Promise<Map<string, number>> {
  const client = await palace.client();
  const { sources } = await client.call("source.list", { wing });
  const { rooms } = (await client.callTool("mempalace_list_rooms", { wing })) as { rooms: Record<string, number> };
  client.close();
  const drawers = new Map(sources.map((source) => [source.sourceFile, source.drawers]));
  // The filing records and the rooms must count the same number of drawers.
  expect(Object.values(rooms).reduce((sum, count) => sum + count, 0)).toBe(
    [...drawers.values()].reduce((sum, count) => sum + count, 0),
  );
  return drawers;
}

async function acknowledged(palace: TestPalace): Promise<number> {
  const client = await palace.client();
  const { queue } = await client.call("palace.status", {});
  client.close();
  return queue.acknowledged;
}

/** Returns every file below a folder with its inode, times and size, which a write would change. */
function snapshot(folder: string): string[] {
  return (readdirSync(folder, { recursive: true, encoding: "utf8" }) as string[]).sort().map((name) => {
    const { ino, mtimeNs, ctimeNs, size } = statSync(join(folder, name), { bigint: true });
    return [name, ino, mtimeNs, ctimeNs, size].join(" ");
  });
}

const stagedIn = (palace: TestPalace, path: string): string => join(palace.home, ".cache/mempalace-docs", path);

test("documents are filed under the path of their staged copy, with wing, room and the original's time", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "My-Project", [
    "README.md",
    "docs/guide.md",
    "src/main.ts",
    "node_modules/x/README.md",
  ]);
  put(root, "docs/windows.txt", `first line\r\nsecond line of a text that is long enough\rthird \u00e9\r\n`);
  utimesSync(join(root, "README.md"), 1_600_000_000, 1_600_000_000.25);

  const report = await feed(palace, [root]);
  expect(report).toMatchObject({
    code: 0,
    wing: "my_project",
    files: 3,
    filed: 3,
    unchanged: 0,
    removed: 0,
    drawers: 3,
    skipped: [],
  });
  const staged = stagedIn(palace, "my_project/README.md");
  expect(statSync(staged).mtimeMs / 1000).toBeCloseTo(1_600_000_000.25, 3);
  expect([...(await drawersOf(palace, "my_project")).keys()].sort()).toEqual(
    ["README.md", "docs/guide.md", "docs/windows.txt"].map((path) => stagedIn(palace, `my_project/${path}`)).sort(),
  );
  await using agent = await palace.shim();
  const { results } = (await agent.call("mempalace_search", {
    query: "second line of a text",
    wing: "my_project",
    room: "documentation",
  })) as {
    results: { text: string; room: string }[];
  };
  expect(results[0]?.text).toBe("first line\nsecond line of a text that is long enough\nthird \u00e9");
});

test("mempalace-docs writes nothing for an unchanged project", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "still", ["README.md", "docs/a.md", "docs/b.md"]);
  put(root, "short.txt", "too short");
  put(root, "binary.txt", "a\0b");
  await feed(palace, [root]);
  const [before, writes] = [snapshot(stagedIn(palace, "")), await acknowledged(palace)];

  const again = await feed(palace, [root]);
  expect(again).toMatchObject({ code: 0, files: 5, filed: 0, unchanged: 3, removed: 0, drawers: 0 });
  expect(again.skipped.map(({ file }) => file).sort()).toEqual(["binary.txt", "short.txt"]);
  expect(snapshot(stagedIn(palace, ""))).toEqual(before);
  expect(await acknowledged(palace)).toBe(writes);
});

test("the feeder skips a touched file, replaces an edited file and removes a vanished file", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "edited", ["a.md", "b.md", "c.md"]);
  await feed(palace, [root]);
  utimesSync(join(root, "a.md"), 1_700_000_000, 1_700_000_000);
  put(root, "b.md", PARAGRAPH.repeat(30));
  rmSync(join(root, "c.md"));

  expect(await feed(palace, [root])).toMatchObject({ files: 2, filed: 1, unchanged: 1, removed: 1 });
  const drawers = await drawersOf(palace, "edited");
  expect([...drawers.keys()].sort()).toEqual([stagedIn(palace, "edited/a.md"), stagedIn(palace, "edited/b.md")]);
  expect(drawers.get(stagedIn(palace, "edited/b.md"))).toBeGreaterThan(1);
  expect(readdirSync(stagedIn(palace, "edited")).sort()).toEqual(["a.md", "b.md"]);

  put(root, "b.md");
  await feed(palace, [root]);
  expect((await drawersOf(palace, "edited")).get(stagedIn(palace, "edited/b.md"))).toBe(1);
});

test("two projects that share a wing do not touch each other's documents", async () => {
  await using palace = createTestPalace();
  const one = createProject(palace, "one", ["README.md", "only-one.md"]);
  const two = createProject(palace, "two", ["README.md", "only-two.md"]);
  for (const root of [one, two]) put(root, "mempalace.yaml", "wing: shared\n");
  expect(await feed(palace, [one])).toMatchObject({ wing: "shared", filed: 2 });
  expect(await feed(palace, [two])).toMatchObject({ wing: "shared", filed: 2, removed: 0 });
  expect(await feed(palace, [one])).toMatchObject({ filed: 0, unchanged: 2, removed: 0 });
  rmSync(join(two, "README.md"));
  expect(await feed(palace, [two])).toMatchObject({ filed: 0, unchanged: 1, removed: 1 });
  expect((await drawersOf(palace, "shared")).size).toBe(3);
});

test("a document stays with the folder from which it was filed first, also when the parent folder is mined", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "shop", ["README.md", "docs/guide.md", "docs/more.md"]);
  expect(await feed(palace, [join(root, "docs")])).toMatchObject({ wing: "docs", filed: 2 });
  const dry = await feed(palace, [root, "--dry-run"]);
  expect(dry.wouldFile).toEqual(["README.md"]);
  const first = await feed(palace, [root]);
  expect(first).toMatchObject({ wing: "shop", filed: 1, removed: 0 });
  expect(first.skipped.map(({ file, reason }) => [file, reason])).toEqual(
    ["docs/guide.md", "docs/more.md"].map((file) => [file, `filed from ${join(root, "docs")}, in the wing "docs"`]),
  );
  expect(await feed(palace, [join(root, "docs")])).toMatchObject({ filed: 0, unchanged: 2 });
  put(root, "docs/guide.md", "# Guide\n\nWater the ferns on Mondays and on Thursdays, and never on Sundays.\n");
  expect((await feed(palace, [root])).skipped[0]?.reason).toMatch(
    /changed since: palace mine docs .*docs --wing docs$/,
  );
  expect(await feed(palace, [join(root, "docs")])).toMatchObject({ filed: 1, unchanged: 1 });
  // After the drawers of a document were removed, a mine of the parent folder files this document.
  const client = await palace.client();
  await client.call("source.remove", { wing: "docs", sourceFile: stagedIn(palace, "docs/more.md") });
  client.close();
  expect(await feed(palace, [root])).toMatchObject({ filed: 1 });
  expect([(await drawersOf(palace, "docs")).size, (await drawersOf(palace, "shop")).size]).toEqual([1, 2]);
});

test("a project that is also filed from another home directory, as in a container, is not filed twice", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "both", ["a.md", "b.md"]);
  await feed(palace, [root]);
  const { doors } = JSON.parse(readFileSync(palace.config.paths.brokerFile, "utf8")) as { doors: { path: string }[] };
  const container = { HOME: join(palace.home, "container"), MEMPALACE_BROKER: `unix:${doors[0]?.path ?? ""}` };
  expect(await feed(palace, [root], container)).toMatchObject({ filed: 0, unchanged: 2 });
  put(root, "b.md", PARAGRAPH.repeat(2));
  expect(await feed(palace, [root], container)).toMatchObject({ filed: 1, unchanged: 1 });
  expect(await feed(palace, [root])).toMatchObject({ filed: 0, unchanged: 2 });
  expect([...(await drawersOf(palace, "both")).keys()].sort()).toEqual([
    stagedIn(palace, "both/a.md"),
    stagedIn(palace, "both/b.md"),
  ]);
});

test("new room rules move the matching documents and file none twice", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "rooms", ["docs/a.md", "misc/b.md"]);
  await feed(palace, [root]);
  put(root, "mempalace.yaml", "wing: rooms\nrooms:\n  - name: handbook\n    keywords: [docs]\n  - name: general\n");
  expect(await feed(palace, [root])).toMatchObject({ filed: 1, unchanged: 1 });
  await using agent = await palace.shim();
  expect((await agent.call("mempalace_list_rooms", { wing: "rooms" }))["rooms"]).toEqual({ handbook: 1, general: 1 });
});

const MANY = Array.from({ length: 60 }, (_, index) => `docs/part-${index}.md`);

/** Starts a run, waits for some documents, then sends the signal. */
async function interrupt(
  palace: TestPalace,
  root: string,
  signal: NodeJS.Signals,
): Promise<{ code: number | null; stdout: string; lines: number }> {
  const child = spawn(process.execPath, [join(ROOT, "src/bin/mempalace-docs.ts"), root], {
    env: palace.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  let isSent = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
    if (!isSent && output.stderr.split("\n  + [").length > 10) isSent = child.kill(signal);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: output.stdout, lines: output.stderr.split("\n  + [").length - 1 };
}

test("the next run of mempalace-docs continues after a kill and files no document twice", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "killed", MANY);
  const { lines } = await interrupt(palace, root, "SIGKILL");
  expect(lines).toBeLessThan(MANY.length);
  // The killed run filed this document, and then the file was deleted. The next run must know that we had filed it.
  rmSync(join(root, "docs/part-0.md"));
  const rest = await feed(palace, [root]);
  expect([rest.removed, rest.filed + rest.unchanged]).toEqual([1, MANY.length - 1]);
  expect(rest.unchanged).toBeGreaterThanOrEqual(lines - 1);
  expect((await drawersOf(palace, "killed")).size).toBe(MANY.length - 1);
});

test("Ctrl-C finishes the current documents, reports the progress and leaves the others to the next run", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "stopped", MANY);
  const { code, stdout, lines } = await interrupt(palace, root, "SIGINT");
  expect(code).toBe(130);
  expect(stdout).toMatch(new RegExp(`${lines} filed .*\\nInterrupted`));
  expect(await feed(palace, [root])).toMatchObject({ code: 0, filed: MANY.length - lines, unchanged: lines });
});

test("a run of mempalace-docs survives the broker's death and files each document once", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "restarted", MANY);
  await palace.run("palace", ["start"]);
  const client = await palace.client();
  const { pid } = await client.call("palace.status", {});
  client.close();
  const child = spawn(process.execPath, [join(ROOT, "src/bin/mempalace-docs.ts"), root], {
    env: palace.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let isKilled = false;
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (!isKilled && stderr.split("\n  + [").length > 10) isKilled = process.kill(pid, "SIGKILL");
  });
  child.stdout.resume();
  const [code] = (await once(child, "close")) as [number | null];
  expect([code, isKilled], stderr).toEqual([0, true]);
  await using agent = await palace.shim();
  expect((await agent.call("mempalace_list_wings", {}))["wings"]).toEqual({ restarted: MANY.length });
});

test("a dry run of mempalace-docs says what a real run would do, starts no broker and writes nothing", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "dry", ["a.md", "b.md"]);
  expect(await feed(palace, [root, "--dry-run"])).toMatchObject({
    code: 0,
    filed: 0,
    wouldFile: ["a.md", "b.md"],
    wouldRemove: [],
  });
  expect(readdirSync(palace.home)).toEqual(["src"]);
  await feed(palace, [root]);
  put(root, "b.md", PARAGRAPH);
  renameSync(join(root, "a.md"), join(root, "c.md"));
  const before = snapshot(stagedIn(palace, ""));
  expect(await feed(palace, [root, "--dry-run"])).toMatchObject({ wouldFile: ["b.md", "c.md"], wouldRemove: ["a.md"] });
  expect(snapshot(stagedIn(palace, ""))).toEqual(before);
});

test("if a folder has lost all its documents, their drawers are removed only with --force", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "away", ["a.md", "b.md"]);
  await feed(palace, [root]);
  renameSync(root, `${root}.mounted`);
  mkdirSync(root);
  expect(await feed(palace, [root])).toMatchObject({
    code: 8,
    error: { code: "FEEDER_SOURCE_UNREADABLE", hint: expect.stringContaining("--force") },
  });
  expect((await drawersOf(palace, "away")).size).toBe(2);
  expect(await feed(palace, [root, "--force"])).toMatchObject({ code: 0, removed: 2 });
  expect((await drawersOf(palace, "away")).size).toBe(0);
});

test("`mempalace-docs why` names the rule that takes a document or leaves it out", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "asked", ["docs/2024-01-02-plan.md", "private/x.md", "drafts/y.md"]);
  put(root, ".gitignore", "private/\n");
  put(root, "mempalace.yaml", "exclude_patterns:\n  - drafts/\n");
  await feed(palace, [root]);
  const why = async (path: string): Promise<object> =>
    JSON.parse((await palace.run("mempalace-docs", ["why", join(root, path), "--json"])).stdout) as object;
  expect(await why("docs/2024-01-02-plan.md")).toMatchObject({
    taken: true,
    project: root,
    wing: "asked",
    room: "documentation",
    contentDate: "2024-01-02",
    contentDateFrom: "file name",
    palace: "filed",
  });
  expect(await why("private/x.md")).toMatchObject({
    taken: false,
    reason: 'folder private is ignored by "private/" in .gitignore',
    palace: "not filed",
  });
  const reason = 'folder drafts is ignored by "drafts/" in the project\'s exclude_patterns';
  expect(await why("drafts/y.md")).toMatchObject({ taken: false, reason, palace: "not filed" });
  put(root, "docs/2024-01-02-plan.md", PARAGRAPH);
  expect(await why("docs/2024-01-02-plan.md")).toMatchObject({ palace: "changed since it was filed" });
});

test("`palace mine PATH` files a folder's documents and names the other commands; with the path of a file it files only that file", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "notes", ["README.md", "docs/one.md", "docs/two.md"]);
  mkdirSync(join(root, ".git"));
  const one = await palace.run("palace", ["mine", join(root, "docs/one.md"), "--wing", "notes"]);
  expect(one.code, one.stderr).toBe(0);
  const paths = async (): Promise<string[]> =>
    [...(await drawersOf(palace, "notes")).keys()].map((path) => path.split("/").slice(-2).join("/")).sort();
  expect(await paths()).toEqual(["docs/one.md"]);
  const all = await palace.run("palace", ["mine", root]);
  expect([all.code, all.stderr]).toEqual([0, expect.stringContaining("palace mine projects DIR")]);
  expect(await paths()).toEqual(["docs/one.md", "docs/two.md", "notes/README.md"]);
  // Filing one file of a project removes no other document of the project.
  await palace.run("palace", ["mine", join(root, "README.md")]);
  expect(await paths()).toHaveLength(3);
  const above = await palace.run("palace", ["mine", "docs", dirname(root), "--dry-run"]);
  expect(above.stderr).toContain(`3 files of ${root} are in wing notes already`);
  const nowhere = await palace.run("palace", ["mine", join(root, "none")]);
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("usage: ")]);
});

test("mempalace-docs answers a missing folder with an error, a hint and the feeder's exit code", async () => {
  await using palace = createTestPalace();
  const { code, stderr, stdout } = await palace.run("mempalace-docs", [join(palace.home, "nowhere")]);
  expect([code, stdout]).toEqual([8, ""]);
  expect(stderr).toMatch(/^mempalace-docs: .*nowhere does not exist.*\n {2}\S.*\n$/);
});

test("a document that becomes a list of words is skipped, and its drawers are removed", async () => {
  await using palace = createTestPalace();
  const project = createProject(palace, "model", ["README.md"]);
  put(project, "vocab.txt", Array.from({ length: 600 }, (_, at) => `word${at} is short`).join("\n"));
  expect(await feed(palace, [project, "--wing", "w"])).toMatchObject({ code: 0, filed: 2 });
  put(project, "vocab.txt", Array.from({ length: 600 }, (_, at) => `word${at}`).join("\n"));
  const skipped = [{ file: "vocab.txt", reason: "a list of words" }];
  expect(await feed(palace, [project, "--wing", "w"])).toMatchObject({ code: 0, unchanged: 1, skipped });
  expect([...(await drawersOf(palace, "w")).keys()].map((path) => path.split("/").at(-1))).toEqual(["README.md"]);
  const { stdout } = await palace.run("mempalace-docs", ["why", join(project, "vocab.txt")]);
  expect(stdout).toContain("left out: a list of words");
});
