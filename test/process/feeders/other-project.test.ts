/** Tests `mempalace-docs` when a folder holds another project than before: no document of the first project is removed or replaced. */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { createProject, feed, PARAGRAPH, put } from "../../helpers/documents.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Returns the number of documents in the palace. */
async function documentsIn(palace: TestPalace, wing: string): Promise<number> {
  const client = await palace.client();
  const { sources } = await client.call("source.list", { wing });
  client.close();
  return sources.filter(({ drawers }) => drawers > 0).length;
}

test("another project with the same folder name does not take the documents of a deleted project", async () => {
  await using palace = createTestPalace();
  const first = createProject(palace, "first/app", ["README.md", "LICENSE", "docs/plan.md"]);
  await feed(palace, [first]);
  rmSync(first, { recursive: true });
  const second = createProject(palace, "second/app", ["LICENSE"]);
  put(second, "README.md", `# The other app\n\n${PARAGRAPH}\n`);
  expect(await feed(palace, [second])).toMatchObject({ code: 0, wing: "app", filed: 2, removed: 0 });
  expect(await documentsIn(palace, "app")).toBe(5);
});

test("a moved project with one changed document keeps its place", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "here/app", ["README.md", "a.md", "b.md"]);
  await feed(palace, [root]);
  mkdirSync(join(palace.home, "src/there"));
  const moved = join(palace.home, "src/there/app");
  renameSync(root, moved);
  put(moved, "a.md", `# Changed\n\n${PARAGRAPH}\n`);
  expect(await feed(palace, [moved])).toMatchObject({ code: 0, filed: 1, unchanged: 2, removed: 0 });
  expect(await documentsIn(palace, "app")).toBe(3);
});

/** Makes the folder a git repository of its own; `remote`: address of its remote. */
async function initGit(root: string, remote?: string): Promise<void> {
  const git = (...args: string[]) =>
    execa("git", ["-C", root, "-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false", ...args]);
  await git("init", "-q");
  if (remote !== undefined) await git("remote", "add", "origin", remote);
  await git("add", ".");
  await git("commit", "-q", "-m", `first of ${root}`);
}

test.each([
  ["remote", "https://git.example/app.git"],
  ["first commit", undefined],
])("a moved project whose documents were all edited keeps its place by its %s", async (_witness, remote) => {
  await using palace = createTestPalace();
  const root = createProject(palace, "here/app", ["README.md", "a.md", "b.md"]);
  await initGit(root, remote);
  await feed(palace, [root]);
  mkdirSync(join(palace.home, "src/there"));
  const moved = join(palace.home, "src/there/app");
  renameSync(root, moved);
  for (const name of ["README.md", "a.md", "b.md"]) put(moved, name, `# Changed ${name}\n\n${PARAGRAPH}\n`);
  expect(await feed(palace, [moved])).toMatchObject({ code: 0, filed: 3, removed: 0 });
  expect(await documentsIn(palace, "app")).toBe(3);
  rmSync(moved, { recursive: true });

  const other = createProject(palace, "elsewhere/app", []);
  put(other, "README.md", `# The other app\n\n${PARAGRAPH}\n`);
  await initGit(other, remote === undefined ? undefined : "https://git.example/other.git");
  expect(await feed(palace, [other])).toMatchObject({ code: 0, filed: 1, removed: 0 });
  expect(await documentsIn(palace, "app")).toBe(4);
});

test("another project at the same path does not remove the documents that were filed from this path", async () => {
  await using palace = createTestPalace();
  const root = createProject(palace, "workspace", ["README.md", "docs/plan.md", "docs/notes.md"]);
  await feed(palace, [root]);
  // The devbox mounts another folder at /workspace.
  renameSync(root, `${root}.first`);
  put(root, "README.md", `# The other project\n\n${PARAGRAPH}\n`);
  const refused = await feed(palace, [root]);
  expect(refused).toMatchObject({ code: 8, error: { code: "FEEDER_SOURCE_UNREADABLE" } });
  expect(refused.error?.hint).toContain("--wing NAME");
  expect(await documentsIn(palace, "workspace")).toBe(3);
  expect(await feed(palace, [root, "--wing", "other"])).toMatchObject({ code: 0, filed: 1, removed: 0 });
  expect(await feed(palace, [root, "--force"])).toMatchObject({ code: 0, filed: 1, removed: 2 });
});
