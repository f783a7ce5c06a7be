/** Forgetting one drawer removed every staged copy with the same words, even of documents whose drawers stayed in the palace. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const SHARED = "The heron stands in the reeds at dawn, and nobody has told it that the lake was sold to the town.";
type Hit = { drawer_id: string; source_path: string; also_in?: { drawer_id: string; source_path: string }[] };

test("forget removes the staged copy of a drawer's source, but no other copy with the same words", async () => {
  await using palace = createTestPalace();
  const project = join(palace.home, "project");
  mkdirSync(project);
  for (const name of ["a.md", "b.md"]) writeFileSync(join(project, name), `# ${name}\n\n${SHARED}\n`);
  await palace.run("palace", ["mine", "docs", project, "--wing", "w"]);
  const { stdout } = await palace.run("palace", ["search", "heron", "--json"]);
  const hits = (JSON.parse(stdout) as { results: Hit[] }).results.flatMap(({ also_in: copies = [], ...hit }) => [
    hit,
    ...copies,
  ]);
  const staged = (name: string): string => join(palace.home, ".cache/mempalace-docs/w", name);
  const { drawer_id: id = "" } = hits.find(({ source_path: path }) => path.endsWith("a.md")) ?? {};
  const forgotten = await palace.run("palace", ["forget", id, "--yes", "--json"]);
  const { removed, left } = JSON.parse(forgotten.stdout) as Record<
    "removed" | "left",
    { path: string; what: string }[]
  >;
  expect([existsSync(staged("a.md")), existsSync(staged("b.md"))]).toEqual([false, true]);
  expect([removed.map(({ path }) => path), left]).toEqual([
    [staged("a.md")],
    expect.arrayContaining([{ path: staged("b.md"), what: "staged copy" }]),
  ]);
  const match = await palace.run("palace", ["forget", "--match", "the lake was sold", "--yes", "--json"]);
  expect([match.code, existsSync(staged("b.md"))]).toEqual([0, false]);
});
