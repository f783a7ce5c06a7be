import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { createLedger, insertDrawers } from "../../../helpers/ledger-fixture.ts";

let folder: string;
let reader: SqliteLedgerReader;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "newest-"));
  const ledger = createLedger(join(folder, "ledger.sqlite3"));
  insertDrawers(ledger, [
    { text: "1", wing: "here" },
    { text: "2", wing: "there" },
    { text: "3", wing: "here" },
    { text: "4", wing: "there" },
  ]);
  ledger.close();
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
});
afterEach(() => {
  reader.close();
  rmSync(folder, { recursive: true, force: true });
});

const newest = (wing: string | undefined, limit: number): string[] =>
  reader.newestDrawers(wing, limit).map(({ text }) => text);

test("the newest drawers of a wing come only from this wing, and the newest drawer comes last", () => {
  expect(newest("here", 9)).toEqual(["1", "3"]);
});

test("the newest drawers of the palace come from any wing, up to the limit", () => {
  expect(newest(undefined, 3)).toEqual(["2", "3", "4"]);
});

test("only drawers without a source file count as notes that wait for a vector, and the newest note comes first", () => {
  const ledger = new Database(join(folder, "ledger.sqlite3"));
  ledger.exec("UPDATE drawer SET source_file = '/a.md' WHERE text = '3'");
  ledger.close();
  expect(reader.pendingNotes(9).map(({ text }) => text)).toEqual(["4", "2", "1"]);
  expect(reader.pendingNotes(2).map(({ text }) => text)).toEqual(["4", "2"]);
});
