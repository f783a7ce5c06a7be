/** Tests that a backup checks the file of the coordination log before it copies the file, and which triggers a backup's ledger may have. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { assertEvents, lookInto } from "../../../../src/memory/backup/look.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "look-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a coordination log that is missing or a folder is reported as no file, and a coordination log with plain text as damaged", () => {
  mkdirSync(join(folder, "logstream.sqlite3"));
  const said = (name: string): unknown => {
    try {
      return assertEvents(join(folder, name));
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return [code, message];
    }
  };
  expect(said("logstream.sqlite3")).toEqual(["STORE_CORRUPT", "it is not a file"]);
  expect(said("none")).toEqual(["STORE_CORRUPT", "it is not a file"]);
  writeFileSync(join(folder, "text"), "not a database, but long enough to have a head of one: ".repeat(20));
  expect(said("text")).toEqual(["STORE_CORRUPT", "the file of the agents' events is damaged"]);
});

test.each([
  ["of version 17", "DELETE FROM static_code WHERE row = old.row;"],
  ["of somebody else", "DELETE FROM journal;"],
])("a backup's ledger with a trigger %s is accepted only if the trigger is ours", (name, body) => {
  const ledger = openForWriting(join(folder, "ledger.sqlite3"));
  ledger.exec(`DROP TRIGGER static_gone; CREATE TRIGGER static_gone AFTER DELETE ON drawer BEGIN\n  ${body}\nEND`);
  ledger.pragma("user_version = 17");
  ledger.close();
  if (name === "of version 17") expect(lookInto(folder)).toMatchObject({ ledgerSchema: 17 });
  else expect(() => lookInto(folder)).toThrow("has a trigger of its own, static_gone");
});
