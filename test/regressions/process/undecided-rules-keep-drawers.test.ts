/** If ignore rules were too complex to decide, mining deleted drawers of documents that were filed before. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("mining keeps a filed document and reports it if its ignore rules are too complex to decide", async () => {
  await using palace = createTestPalace();
  const project = join(palace.home, "project");
  const folder = "a".repeat(200);
  mkdirSync(join(project, folder), { recursive: true });
  for (const path of ["plain.md", `${folder}/x.md`])
    writeFileSync(join(project, path), `# ${path}\n\nThe heron stands in the reeds at dawn.\n`);
  const mine = async (): Promise<[filed: number, removed: number, left: string[]]> => {
    const { stdout } = await palace.run("palace", ["mine", "docs", project, "--json"]);
    type Report = { filed: number; removed: number; skipped: { reason: string }[] };
    const { filed, removed, skipped } = JSON.parse(stdout) as Report;
    return [filed, removed, skipped.map(({ reason }) => reason)];
  };
  expect(await mine()).toEqual([2, 0, []]);
  writeFileSync(join(project, ".gitignore"), `${"*a*a*a*a*b\n".repeat(20_000)}!a*\n`);
  expect(await mine()).toEqual([0, 0, [".gitignore has rules too complex to decide"]]);
});
