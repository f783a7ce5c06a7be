import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";

const missing = await mempalaceMissing("3.11.0");
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const textsOf = (rows: Map<string, Row>): string[] =>
  [...rows.values()]
    .map(({ text, metadata }) => `${metadata["source_file"]} ${metadata["chunk_index"]} ${text}`)
    .sort();

test.skipIf(missing !== undefined)(
  "a file that gives more drawers than --max-chunks-per-file is left out, as by MemPalace 3.11",
  { timeout: 300_000 },
  async () => {
    await using palace = createTestPalace();
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    const root = join(home, "project");
    const upstream = join(home, "palace");
    mkdirSync(root);
    let day = 0;
    const put = (name: string, text: string): void => {
      writeFileSync(join(root, name), text);
      utimesSync(join(root, name), 1_700_000_000 + ++day * 86_400, 1_700_000_000 + day * 86_400);
    };
    const mine = async (args: string[], env: Record<string, string>): Promise<Record<string, unknown>> => {
      const theirs = await runMempalace("3.11.0", ["--palace", upstream, "mine", root, ...args], { home, env });
      expect(theirs.code, theirs.output).toBe(0);
      const ours = await palace.run("palace", ["mine", "projects", root, "--json", ...args], { env });
      expect(ours.code, ours.stderr).toBe(0);
      expect(textsOf(ourRows(palace))).toEqual(textsOf(await upstreamRows("3.11.0", home, upstream)));
      return JSON.parse(ours.stdout) as Record<string, unknown>;
    };
    try {
      put("short.md", "word ".repeat(200));
      put("long.md", "words ".repeat(1_000));
      const left = { file: "long.md", reason: expect.stringMatching(/^9 drawers, more than 8;/) as string };
      expect(await mine(["--max-chunks-per-file", "8"], {})).toMatchObject({ filed: 1, skipped: [left] });
      const few = { MEMPALACE_MAX_CHUNKS_PER_FILE: "8" };
      expect(await mine([], few)).toMatchObject({ filed: 0, unchanged: 1, skipped: [left] });
      expect(await mine(["--max-chunks-per-file", "9"], few)).toMatchObject({ filed: 1, skipped: [] });
      // A filed file that grows beyond the limit keeps its drawers.
      put("long.md", "words ".repeat(2_000));
      expect(await mine([], few)).toMatchObject({ filed: 0, drawers: 0 });
      expect(await mine(["--max-chunks-per-file", "0"], few)).toMatchObject({ filed: 1 });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
