/**
 * The conversation miner against the real one: the same files go to MemPalace 3.11 and to us, and every drawer has the same
 * id, text and metadata. Of 3.3.6 the wings, rooms and transcripts are the same; its exchanges are cut in another way.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { mempalaceBin, mempalaceEnv, mempalaceMissing, runMempalace } from "../helpers/python-mempalace.ts";
import { transcriptFiles } from "../helpers/transcripts.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

type Row = { text: string; metadata: Record<string, unknown> };

const DUMP = `
import json, sys
from mempalace.palace import get_collection
found = get_collection(sys.argv[1]).get(include=["documents", "metadatas"])
print(json.dumps({i: {"text": d, "metadata": m} for i, d, m in zip(found["ids"], found["documents"], found["metadatas"])}))`;

async function upstreamRows(home: string, palace: string): Promise<Map<string, Row>> {
  const { stdout } = await promisify(execFile)(mempalaceBin(VERSION, "python"), ["-c", DUMP, palace], {
    env: mempalaceEnv(home),
    maxBuffer: 1 << 28,
  });
  return new Map(Object.entries(JSON.parse(stdout.slice(stdout.indexOf("{"))) as Record<string, Row>));
}

function ourRows(palace: TestPalace): Map<string, Row> {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], { id: string; text: string; metadata: string }>("SELECT * FROM drawer").all();
  ledger.close();
  return new Map(
    rows.map(({ id, text, metadata }) => [id, { text, metadata: JSON.parse(metadata) as Row["metadata"] }]),
  );
}

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

      const theirs = await upstreamRows(home, upstream);
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
