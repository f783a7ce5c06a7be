import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../../helpers/mined-rows.ts";
import { configure, filed, HALLS, put, WORDS } from "../../helpers/mined-settings.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";
import { chooserOf, transcriptFiles } from "../../helpers/transcripts.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const missing = await mempalaceMissing("3.11.0");
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const TINY_FILES = 4;

for (const extract of ["exchange", "general"])
  for (const settings of [
    { chunk_size: 211, min_chunk_size: 70, hall_keywords: HALLS },
    { chunk_size: 25, min_chunk_size: 26 },
    { chunk_size: 3_000, min_chunk_size: 0 },
  ])
    test.skipIf(missing !== undefined)(
      `transcripts become the same drawers as with MemPalace 3.11, by ${extract}, in drawers of ${settings.chunk_size}`,
      { timeout: 600_000 },
      async () => {
        await using palace = createTestPalace();
        const home = mkdtempSync(join(tmpdir(), "upstream-"));
        try {
          const root = join(home, "talks");
          // With drawers of 25 characters, a few files already give enough drawers.
          const isTiny = settings.chunk_size === 25;
          // Leaves out the day files of a Slack export, which we read differently (convos-parity.test.ts).
          const files = transcriptFiles(SEED, 1).filter(({ name }) => !name.endsWith("slack.json"));
          for (const { name, text } of isTiny ? files.slice(0, TINY_FILES) : files) put(root, name, text);
          const chooser = chooserOf(SEED);
          for (let at = 0; at < (isTiny ? 1 : 2); at++) {
            const turns = Array.from({ length: 20 }, () => {
              const words = Array.from({ length: chooser.between(1, 40) }, () => chooser.pick(WORDS)).join(" ");
              return `> ${words}\nWe decided on it because it finally works. ${words} I feel happy.`;
            });
            put(root, `talk-${at}.txt`, turns.join(chooser.pick(["\n", "\n\n"])));
          }
          configure([home, palace.home], settings);
          const upstream = join(home, "palace");
          const args = ["--mode", "convos", "--extract", extract];
          const [mined, ours] = await Promise.all([
            runMempalace("3.11.0", ["--palace", upstream, "mine", root, ...args], { home }),
            palace.run("palace", ["mine", "convos", root, "--json", "--extract", extract]),
          ]);
          expect(mined.code, mined.output).toBe(0);
          expect(ours.code, ours.stderr).toBe(0);

          const theirs = await upstreamRows("3.11.0", home, upstream);
          for (const [id, { metadata }] of theirs) if (metadata["room"] === "_registry") theirs.delete(id);
          const mine = ourRows(palace);
          expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
          for (const [id, row] of mine) expect(filed(row)).toEqual(filed(theirs.get(id) as Row));
          expect(mine.size).toBeGreaterThan(40);
        } finally {
          rmSync(home, { recursive: true, force: true });
        }
      },
    );
