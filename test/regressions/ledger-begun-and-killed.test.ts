/**
 * An older version made the ledger in its place. A file of one page without a table is therefore either one that a killed
 * broker began, or a ledger whose log was removed: nothing in the file tells which. A new palace in its place hid the second.
 */
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

it("a file of one page without a table is refused, with what to do, and stays as it is", () => {
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

it("a file of somebody else is refused all the same, and stays as it is", () => {
  const theirs = new Database(file);
  theirs.exec("CREATE TABLE notes (text)");
  theirs.close();
  expect(() => openForWriting(file)).toThrow("is not a palace ledger");
});
