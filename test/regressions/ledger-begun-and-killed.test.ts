/**
 * A broker that was killed while it made its ledger, between the switch to WAL and the tables, left a file that every later one
 * refused as no palace ledger: the memory could not be begun. Found by test/process/feeders/session-kill.test.ts under load.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, expect, it } from "vitest";
import { openForWriting } from "../../src/ledger/open.ts";

const folder = mkdtempSync(join(tmpdir(), "ledger-"));
const file = join(folder, "ledger.sqlite3");
afterEach(() => rmSync(file, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

it("is made to its end by the next one", () => {
  const begun = new Database(file);
  begun.pragma("journal_mode = WAL");
  expect(begun.pragma("page_count", { simple: true })).toBe(1);
  begun.close();
  const ledger = openForWriting(file);
  expect(ledger.prepare("SELECT count(*) FROM drawer").pluck().get()).toBe(0);
  ledger.close();
});

it("a file of somebody else is refused all the same, and stays as it is", () => {
  const theirs = new Database(file);
  theirs.exec("CREATE TABLE notes (text)");
  theirs.close();
  expect(() => openForWriting(file)).toThrow("is not a palace ledger");
});
