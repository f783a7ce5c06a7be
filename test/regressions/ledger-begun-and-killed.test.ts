/** A ledger file of one page without a table may have lost its write-ahead log, so no new palace may begin in this file. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, expect, it } from "vitest";
import { openForWriting } from "../../src/memory/ledger/open.ts";

const folder = mkdtempSync(join(tmpdir(), "ledger-"));
const file = join(folder, "ledger.sqlite3");
afterEach(() => rmSync(file, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

it("the ledger refuses a file of one page without a table, names the next step and leaves the file unchanged", () => {
  const begun = new Database(file);
  begun.pragma("journal_mode = WAL");
  expect(begun.pragma("page_count", { simple: true })).toBe(1);
  begun.close();
  const before = readFileSync(file);
  expect(() => openForWriting(file)).toThrow(
    expect.objectContaining({ code: "STORE_CORRUPT", hint: expect.stringContaining("backup restore") as string }),
  );
  expect(readFileSync(file)).toEqual(before);
});

it("the ledger refuses another program's database", () => {
  const theirs = new Database(file);
  theirs.exec("CREATE TABLE notes (text)");
  theirs.close();
  expect(() => openForWriting(file)).toThrow("is not a palace ledger");
});
