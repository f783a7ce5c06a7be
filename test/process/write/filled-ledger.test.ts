import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { Corpus } from "../../bench/corpus.ts";
import { documentCall, fillLedger } from "../../bench/fill-ledger.ts";
import { USUAL_CUT } from "../../../src/memory/source/chunk.ts";
import type { Methods } from "../../../src/protocol/spec.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const DOCUMENTS = 3;
const CHUNKS = 5;
/** Queries for the rows of each table, without the columns that depend on the moment of the write. */
const TABLES = {
  drawers: "SELECT row, id, wing, room, source_file, text, date_words FROM drawer ORDER BY row",
  metadata: "SELECT row, json_remove(metadata, '$.filed_at', '$.last_modified') AS metadata FROM drawer ORDER BY row",
  words: "SELECT id, sz FROM drawer_fts_docsize ORDER BY id",
  forms: "SELECT id, sz FROM form_fts_docsize ORDER BY id",
  codes: "SELECT row, hex(code) AS code, scale FROM static_code ORDER BY row",
  places: "SELECT wing, room, drawers FROM place ORDER BY wing, room",
  sources: "SELECT source_file, wing, mtime, sha256, drawers FROM source ORDER BY source_file",
  sourceWords: "SELECT id, sz FROM source_fts_docsize ORDER BY id",
  closets: "SELECT id, substr(text, instr(text, '|→')) AS drawers FROM closet ORDER BY id",
  waiting: "SELECT row FROM pending_embedding ORDER BY row",
};

function rowsOf(ledgerFile: string, table: keyof typeof TABLES): unknown[] {
  const ledger = new Database(ledgerFile, { readonly: true });
  try {
    return ledger.prepare(TABLES[table]).all();
  } finally {
    ledger.close();
  }
}

test("a ledger that the benchmarks fill has the same rows as a ledger that a broker wrote", async () => {
  await using palace = createTestPalace();
  await using other = createTestPalace();
  const filled = other.config.paths.ledgerFile;
  mkdirSync(dirname(filled), { recursive: true });
  const texts = new Corpus(6, true);
  const text = (characters: number): string => texts.text(characters);
  fillLedger({ ledgerFile: filled, model: undefined, text, from: 0, to: DOCUMENTS, chunks: CHUNKS });

  await palace.startBroker();
  const client = await palace.client();
  const again = new Corpus(6, true);
  for (let document = 0; document < DOCUMENTS; document++) {
    const content = again.text(CHUNKS * (USUAL_CUT.size - USUAL_CUT.overlap));
    const { params } = documentCall(document, content, USUAL_CUT);
    await client.call("source.replace", params as Methods["source.replace"]["params"]);
  }
  const written = palace.config.paths.ledgerFile;
  // Waits until the broker has indexed the words of each whole source, which it does when it is idle.
  await expect.poll(() => rowsOf(written, "sourceWords")).toHaveLength(DOCUMENTS);
  client.close();
  for (const table of Object.keys(TABLES) as (keyof typeof TABLES)[])
    expect(rowsOf(filled, table), table).toEqual(rowsOf(written, table));
  expect(rowsOf(filled, "codes").length).toBeGreaterThan(DOCUMENTS);
});
