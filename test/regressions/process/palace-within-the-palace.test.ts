/**
 * Beside a memory that lies in the folder of the home's own public palace the home's was not to be opened any more: its broker was
 * started with that folder's name. And a command that hands on to another forgot that it was named at all.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a memory within the public palace's folder leaves the one around it alone", async () => {
  await using palace = createTestPalace();
  const { palaceDir } = palace.config.paths;
  const inner = join(palaceDir, "ledger.sqlite3");
  mkdirSync(palaceDir, { recursive: true });
  writeFileSync(inner, "");
  const env = { MEMPALACE_PALACE_PATH: "" };
  const drawer = JSON.stringify({ wing: "w", room: "r", content: "of the memory around it" });
  const added = await palace.run("palace", ["call", "add_drawer", drawer], { env });
  expect(added).toMatchObject({ code: 0 });
  expect(existsSync(palace.config.paths.ledgerFile)).toBe(true);
});

test("what is handed on to another command goes to the palace that was named", async () => {
  await using palace = createTestPalace();
  const { palaceDir } = palace.config.paths;
  const elsewhere = join(palace.home, "elsewhere");
  const project = join(palace.home, "project");
  mkdirSync(project);
  writeFileSync(
    join(project, "notes.md"),
    "The harbour master keeps the tide tables in the second drawer of his desk.\n".repeat(3),
  );
  const mined = await palace.run("mempalace", ["--palace", palaceDir, "mine", project], {
    env: { MEMPALACE_PALACE_PATH: elsewhere },
  });
  expect(mined).toMatchObject({ code: 0 });
  expect(existsSync(elsewhere)).toBe(false);
  expect((await palace.run("palace", ["search", "tide tables", "--json"])).stdout).toContain("harbour master");
});
