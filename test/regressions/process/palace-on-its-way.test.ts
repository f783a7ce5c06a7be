/** During an adoption, calls were answered as if the palace were empty, so agents and miners filed known texts again. */
import { mkdirSync } from "node:fs";
import { expect, it } from "vitest";
import { withAdoption } from "../../../src/memory/tools/reads.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { createFilesDriver } from "../../../src/mempalace/driver/files.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const ROWS = 300;

async function makePalace(palaceDir: string): Promise<void> {
  mkdirSync(palaceDir, { recursive: true });
  const driver = createFilesDriver({ palaceDir, log: SILENT_LOG });
  await driver.open();
  const vector = (n: number): Float32Array => Float32Array.from({ length: 384 }, (_, at) => Math.sin(at * (n + 1)));
  for (let from = 0; from < ROWS; from += 100)
    await driver.upsert(
      Array.from({ length: 100 }, (_, at) => ({
        ...{ id: `drawer_${from + at}`, text: `number ${from + at}`, metadata: { wing: "old", room: "r" } },
        vector: vector(from + at),
      })),
    );
  await driver.close();
}

it("the first call on an existing palace finds all of the palace's drawers", { timeout: 120_000 }, async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
  await makePalace(palace.config.paths.palaceDir);
  const first = await palace.run("palace", ["call", "status"]);
  expect(JSON.parse(first.stdout)).toMatchObject({ total_drawers: ROWS, wings: { old: ROWS } });
  const shown = await palace.run("palace", ["search", `number ${ROWS - 1}`, "--limit=1", "--json"]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ results: [{ text: `number ${ROWS - 1}` }] });
});

it("each answer during an adoption reports the progress", () => {
  const adopting = (): string => "5 of 9 rows so far";
  expect(withAdoption({ adopting }, { error: "No palace found", hint: "Run: mempalace init" })).toEqual({
    error: "No palace yet: 5 of 9 rows so far",
    hint: "palace doctor",
  });
  expect(withAdoption({ adopting }, { results: [], notice: "Weak." })).toEqual({
    results: [],
    notice: "Weak. 5 of 9 rows so far",
  });
  expect(withAdoption({ adopting: () => undefined }, { results: [] })).toEqual({ results: [] });
});
