/** Tests that a backup checks the file of the coordination log before it copies the file. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { assertEvents } from "../../../../src/memory/backup/look.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "look-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a coordination log that is missing or a folder is reported as no file, and a text file in its place as damaged", () => {
  mkdirSync(join(folder, "logstream.sqlite3"));
  const said = (name: string): unknown => {
    try {
      return assertEvents(join(folder, name));
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return [code, message];
    }
  };
  expect(said("logstream.sqlite3")).toEqual(["STORE_CORRUPT", "it is no file"]);
  expect(said("none")).toEqual(["STORE_CORRUPT", "it is no file"]);
  writeFileSync(join(folder, "text"), "not a database, but long enough to have a head of one: ".repeat(20));
  expect(said("text")).toEqual(["STORE_CORRUPT", "the file of the agents' events is damaged"]);
});
