/** Tests which backups belong to this palace. The schedule counts and removes only these backups. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noteBackup, ownBackups, readList } from "../../../../src/memory/backup/known-backups.ts";
import { backupName } from "../../../../src/memory/backup/name.ts";

const tag = "0123abcd";
const NOW_MS = Date.UTC(2026, 0, 10);
const HOUR_MS = 3_600_000;

let root: string;
let home: string;
let dir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "list-"));
  [home, dir] = [join(root, "home"), join(root, "disk", "backups")];
  for (const folder of [home, dir]) mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("another machine's backups in a shared folder do not belong to this palace, even if both palaces have the same path", () => {
  const own = make(-2 * HOUR_MS);
  make(-HOUR_MS, { isListed: false });
  expect(ownBackups({ home, tag }, dir, NOW_MS).made.map(({ file }) => file)).toEqual([own]);
});

test("a backup dated in the future does not count as the last backup, and an empty file does not count as a backup", () => {
  const own = make(-2 * HOUR_MS);
  const future = make(9 * HOUR_MS);
  make(-HOUR_MS, { content: "" });
  const { made, ahead } = ownBackups({ home, tag }, dir, NOW_MS);
  expect([made, ahead].map((found) => found.map(({ file }) => file))).toEqual([[own], [future]]);
});

test("the list of backups keeps a backup on an unmounted disk and drops a removed backup", () => {
  const file = make(-2 * HOUR_MS);
  rmSync(join(root, "disk"), { recursive: true });
  note(join(root, "b.tar"));
  expect(listed()).toContain(file);
  mkdirSync(dir, { recursive: true });
  note(join(root, "b.tar"));
  expect(listed()).not.toContain(file);
});

function make(atMs: number, { isListed = true, content = "tar" } = {}): string {
  const file = join(dir, backupName(tag, new Date(NOW_MS + atMs), false));
  writeFileSync(file, content);
  if (isListed) note(file);
  return file;
}

function note(file: string): void {
  noteBackup(home, { file, madeAtMs: NOW_MS, journalSeq: 1, bytes: 3, encrypted: false, scheduled: true });
}

function listed(): (string | null)[] {
  return readList(home).backups.map(({ file }) => file);
}
