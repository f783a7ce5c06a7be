import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject, feed, PARAGRAPH, put } from "../../helpers/documents.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

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

test("a moved project with one changed document counts as the same project", async () => {
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
