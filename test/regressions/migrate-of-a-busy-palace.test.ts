/** `palace repair migrate` rebuilt a palace after any error of its check, even if another process was writing or the disk was full. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPalace } from "../../src/mempalace/driver/files/create.ts";
import { probePalace } from "../../src/mempalace/rebuild/migrate.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-migrate-"));
  createPalace(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("migrate refuses a palace that another process is writing", () => {
  expect(probePalace(folder)).toBeUndefined();
  const other = new Database(join(folder, "chroma.sqlite3"));
  other.exec("BEGIN IMMEDIATE");
  expect(() => probePalace(folder)).toThrow(/another process is writing/);
  other.close();
});

test("migrate's check names a table that a palace of another version lacks", () => {
  const other = new Database(join(folder, "chroma.sqlite3"));
  other.exec("ALTER TABLE embeddings_queue RENAME TO queue_of_old");
  other.close();
  expect(probePalace(folder)).toMatch(/embeddings_queue/);
});
