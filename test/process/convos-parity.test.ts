/**
 * The conversation miner against the real one: the same files go to MemPalace 3.11 and to us, and every drawer has the same
 * id, text and metadata. Of 3.3.6 the wings, rooms and transcripts are the same; its exchanges are cut in another way.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ourRows, type Row, upstreamRows } from "../helpers/mined-rows.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { mempalaceMissing, runMempalace } from "../helpers/python-mempalace.ts";
import { transcriptFiles } from "../helpers/transcripts.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** The clock is each one's own, and Chroma gives a float back with its last bit changed now and then. */
function timeless([id, { text, metadata }]: [string, Row]): unknown {
  const { filed_at: filedAt, last_modified: modified, authored_at: authored, source_mtime: mtime, ...rest } = metadata;
  const times = {
    filedAt: typeof filedAt,
    modified: typeof modified,
    authored: authored === filedAt ? "when it was filed" : authored,
    mtime: Number(mtime).toFixed(5),
  };
  return { id, text, rest, times };
}

test.skipIf(missing !== undefined)(
  "the same transcripts become the same drawers as with MemPalace 3.11",
  { timeout: 600_000 },
  async () => {
    await using palace = createTestPalace();
    const home = mkdtempSync(join(tmpdir(), "upstream-"));
    const root = join(home, "My-Talks");
    for (const { name, text } of transcriptFiles(Number(process.env["FUZZ_SEED"] ?? 1), 12)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    try {
      const upstream = join(home, "palace");
      const mined = await runMempalace(VERSION, ["--palace", upstream, "mine", root, "--mode", "convos"], { home });
      expect(mined.code, mined.output).toBe(0);
      const ours = await palace.run("palace", ["mine", "convos", root, "--json"]);
      expect(ours.code, ours.stderr).toBe(0);

      const theirs = await upstreamRows(VERSION, home, upstream);
      // A row that only says that a file was looked at: our mark of the source says it.
      for (const [id, { metadata }] of theirs) if (metadata["room"] === "_registry") theirs.delete(id);
      const mine = ourRows(palace);
      expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
      expect(mine.size).toBeGreaterThan(400);
      for (const [id, row] of mine) expect(timeless([id, row])).toEqual(timeless([id, theirs.get(id) as Row]));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
);
