/** Rules that were too complex to be decided took the drawers of documents that were filed before them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a document that was filed keeps its drawers when rules come that cannot be decided, and is named", async () => {
  await using palace = createTestPalace();
  const project = join(palace.home, "project");
  const folder = "a".repeat(200);
  mkdirSync(join(project, folder), { recursive: true });
  for (const path of ["plain.md", `${folder}/x.md`])
    writeFileSync(join(project, path), `# ${path}\n\nThe heron stands in the reeds at dawn.\n`);
  const mine = async (): Promise<unknown> =>
    JSON.parse((await palace.run("palace", ["mine", "docs", project, "--json"])).stdout);
  expect(await mine()).toMatchObject({ filed: 2, removed: 0 });
  writeFileSync(join(project, ".gitignore"), `${"*a*a*a*a*b\n".repeat(20_000)}!a*\n`);
  expect(await mine()).toMatchObject({
    ...{ filed: 0, removed: 0 },
    skipped: [expect.objectContaining({ reason: ".gitignore has rules too complex to decide" }) as object],
  });
});
