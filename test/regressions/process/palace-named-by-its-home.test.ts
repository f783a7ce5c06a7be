/** `--palace ~/.mempalace` made a new public palace in the home itself, so the palace in use was no longer updated. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { resolvePaths } from "../../../src/config/paths.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("--palace with the home's folder opens the home's public palace", async () => {
  await using palace = createTestPalace();
  const { home, palaceDir } = palace.config.paths;
  expect(resolvePaths(palace.env, home)).toMatchObject({ home, palaceDir });
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "ledger.sqlite3"), "");
  expect(resolvePaths(palace.env, home)).toMatchObject({ home, palaceDir });
});

test("--palace opens a public palace that is directly in the home", async () => {
  await using palace = createTestPalace();
  const { home } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "chroma.sqlite3"), "");
  expect(resolvePaths(palace.env, home)).toMatchObject({ home, palaceDir: home });
});
