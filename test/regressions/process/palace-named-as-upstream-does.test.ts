/** `--palace ~/.mempalace/palace`, as MemPalace's users type it, opened a second memory inside the first memory's public palace. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { resolvePaths } from "../../../src/config/paths.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("--palace or MEMPALACE_PALACE with the public palace's folder, also with a final slash, opens the memory of the palace's home", async () => {
  await using palace = createTestPalace();
  const { home, palaceDir } = palace.config.paths;
  const elsewhere = join(palace.home, "elsewhere");
  // Names another palace in the environment, which the started broker must not use.
  const env = { MEMPALACE_PALACE_PATH: elsewhere };
  const added = await palace.run(
    "palace",
    ["call", "add_drawer", JSON.stringify({ wing: "w", room: "r", content: "by its folder" }), "--palace", palaceDir],
    { env },
  );
  expect(added).toMatchObject({ code: 0 });
  expect([existsSync(join(palaceDir, "ledger.sqlite3")), existsSync(elsewhere)]).toEqual([false, false]);
  const found = await palace.run("palace", ["search", "by its folder", "--json"]);
  expect(found.stdout).toContain("by its folder");
  expect(resolvePaths({ ...palace.env, MEMPALACE_PALACE: `${palaceDir}/` })).toMatchObject({ home, palaceDir });
});

test("a memory with its ledger in the public palace's folder stays there", async () => {
  await using palace = createTestPalace();
  const { home, palaceDir } = palace.config.paths;
  mkdirSync(palaceDir, { recursive: true });
  writeFileSync(join(palaceDir, "ledger.sqlite3"), "");
  expect(resolvePaths(palace.env, palaceDir)).toMatchObject({ home: palaceDir, palaceDir });
  expect(resolvePaths(palace.env)).toMatchObject({ home, palaceDir });
});
