/** `palace forget --source FILE` did not find drawers that the docs feeder had filed under the path of a staged copy. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("forget --source finds a document by its path, and lists the document's source names if two feeders filed it", async () => {
  await using palace = createTestPalace();
  const folder = join(palace.home, "notes");
  const file = join(folder, "tides.md");
  mkdirSync(folder);
  writeFileSync(file, "# Tides\n\nThe wombat keeps the tables of the tides in the second drawer of the desk.\n");
  const rows = async (name: string): Promise<unknown> => {
    const { stdout } = await palace.run("palace", ["forget", "--source", name, "--dry-run", "--json"]);
    return (JSON.parse(stdout) as { total: unknown }).total;
  };
  expect(await palace.run("palace", ["mine", "docs", folder])).toMatchObject({ code: 0 });
  expect([await rows(file), await rows(relative(process.cwd(), file)), await rows(join(folder, "no.md"))]).toEqual([
    1, 1, 0,
  ]);
  for (const more of [[], ["--dry-run"], ["--yes"]]) {
    const absent = await palace.run("palace", ["forget", "--source", join(folder, "no.md"), ...more]);
    expect([more, absent.code, absent.stderr]).toEqual([more, 4, expect.stringContaining("no drawer is filed from")]);
  }

  expect(await palace.run("palace", ["mine", "projects", folder])).toMatchObject({ code: 0 });
  const both = await palace.run("palace", ["forget", "--source", file, "--yes"]);
  expect(both).toMatchObject({ code: 2 });
  expect(both.stderr).toContain("filed under 2 names");
  const staged = /names: .*?, (\S+)/.exec(both.stderr)?.[1] ?? "";
  expect(await palace.run("palace", ["forget", "--source", staged, "--yes"])).toMatchObject({ code: 0 });
  expect(await palace.run("palace", ["forget", "--source", file, "--yes"])).toMatchObject({ code: 0 });
  expect((await palace.run("palace", ["search", "wombat"])).stdout).not.toContain("second drawer");
});
