/**
 * Closets on their way: mined by us, they stand in the public palace as MemPalace's own do, its search uses them, and so does
 * ours, without another order of the hits; killed at any step, they are of the text that is there.
 */
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { dumpChroma, python, type ChromaRow } from "../helpers/python-chroma.ts";
import {
  MEMPALACE_VERSIONS,
  mempalaceEnv,
  mempalaceMissing,
  openMempalace,
  startPythonChroma,
} from "../helpers/python-mempalace.ts";
import { expectSame, inStep, status } from "../helpers/python-rows.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const CLOSETS = "mempalace_closets";

/** A palace of a HOME in which MemPalace's model lies, so that both sides embed alike. */
function createScene(env: Record<string, string> = { MEMPALACE_DRIVER: "files" }): TestPalace {
  const palace = createTestPalace({ env });
  mempalaceEnv(palace.home);
  return palace;
}

const DOCS: Readonly<Record<string, string>> = {
  "README.md": `# Auth design\n\nWe built the auth service with Redis. Redis was fast.\n\n${"More of it here. ".repeat(80)}`,
  "docs/parser.md": `# Parser\n\nFixed the parser of dates. Alice wrote it, said Alice.\n\n${"Parsing dates is hard. ".repeat(60)}`,
  "docs/plain.txt": `nothing but plain words in this file, ${"over and over again ".repeat(20)}`,
};

async function mine(palace: TestPalace, docs = DOCS): Promise<void> {
  const root = join(palace.home, "project");
  for (const [name, text] of Object.entries(docs)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { code, stderr } = await palace.run("mempalace-docs", [root, "--quiet"]);
  expect(code, stderr).toBe(0);
}

function ledgerClosets({ config }: TestPalace): Map<string, ChromaRow> {
  const database = new Database(config.paths.ledgerFile, { readonly: true });
  const rows = database
    .prepare<[], { id: string; text: string; metadata: string; vector: Buffer | null }>("SELECT * FROM closet")
    .all();
  database.close();
  return new Map(
    rows.map(({ id, text, metadata, vector }) => {
      const floats = vector === null ? [] : [...new Float32Array(Uint8Array.from(vector).buffer)];
      return [id, { text, metadata: JSON.parse(metadata) as Record<string, unknown>, vector: floats }];
    }),
  );
}

/** Drawers and closets are in the public palace, and nothing waits. */
async function settled(palace: TestPalace, count: number): Promise<void> {
  await inStep(palace);
  await expect.poll(async () => (await status(palace)).closets, WAIT).toEqual({ count, pending: 0, lag: 0 });
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: closets, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`MemPalace ${version}`, () => {
    it("reads the closets of our mining, and its search is boosted by them", { timeout: 240_000 }, async () => {
      await using palace = createScene();
      const { palaceDir } = palace.config.paths;
      await palace.startBroker();
      await mine(palace);
      await settled(palace, 3);
      const ours = ledgerClosets(palace);
      const mined = await palace.run("palace", ["stop"]);
      expect(mined.code).toBe(0);
      expectSame(ours, await dumpChroma(version, palace.home, palaceDir, CLOSETS));

      await using theirs = await openMempalace(version, { home: palace.home, palace: palaceDir });
      const found = (await theirs.call("search", { query: "built the auth service with redis", limit: 3 })) as {
        results: Record<string, unknown>[];
      };
      const boosted = found.results.find(({ source_file: name }) => name === "README.md");
      expect(boosted).toMatchObject({ matched_via: "drawer+closet", closet_boost: expect.any(Number) as number });
      expect(boosted?.["closet_boost"]).toBeGreaterThan(0);
      expect(boosted?.["closet_preview"]).toContain("built the auth service with redis");
    });
  });
}
