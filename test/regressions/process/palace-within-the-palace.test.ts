/** A second memory in the home's public palace made it impossible to open the home's memory. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a second memory in the public palace's folder does not affect the home's memory", async () => {
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

test("a command passes its --palace option to the command that it starts", async () => {
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
