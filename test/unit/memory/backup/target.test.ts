/** Tests where a backup may be written: to a new file, or with `--force` over an older backup. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeBackup } from "../../../../src/memory/backup/make.ts";
import { Gitignore } from "../../../../src/base/gitignore.ts";
import type { SnapshotSource } from "../../../../src/memory/backup/snapshot.ts";
import { assertTarget } from "../../../../src/memory/backup/target.ts";
import { ROOT } from "../../../../scripts/main.ts";
import { backupName } from "../../../../src/memory/backup/name.ts";
import { Steps } from "../../../../src/base/job-progress.ts";
import { tarHeader } from "../../../../src/memory/backup/tar.ts";

let root: string;
let own: { home: string; palaceDir: string };

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "goal-")));
  own = { home: join(root, "home"), palaceDir: join(root, "home", "palace") };
  mkdirSync(own.palaceDir, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test.each([
  ["the ledger", "home/ledger.sqlite3", "SQLite format 3\0"],
  ["a file of the home that is not there yet", "home/ledger.sqlite3-wal", undefined],
  ["the public palace", "home/palace/chroma.sqlite3", undefined],
  ["a file of another program", "thesis.odt", "PK"],
  ["another tar", "photos.tar", tarHeader("a.jpg", 3)],
])("a backup is not written over %s, not even with --force", (_what, name, content) => {
  const file = join(root, name);
  if (content !== undefined) writeFileSync(file, content);
  expect(() => assertTarget({ file, replace: true }, own)).toThrow(expect.objectContaining({ code: "CONFIG_USAGE" }));
});

test("with --force a backup replaces an older backup or an empty file, but not a link", () => {
  const file = join(root, "b.tar");
  for (const content of [tarHeader("manifest.json", 900), "age-encryption.org/v1\n-> scrypt", ""]) {
    writeFileSync(file, content);
    assertTarget({ file, replace: true }, own);
    expect(() => assertTarget({ file, replace: false }, own)).toThrow(/exists already/);
  }
  symlinkSync(file, join(root, "link.tar"));
  expect(() => assertTarget({ file: join(root, "link.tar"), replace: true }, own)).toThrow(/not a palace backup/);
});

test("a backup onto somebody else's file fails before it starts and leaves the file unchanged", async () => {
  const file = join(root, "thesis.odt");
  writeFileSync(file, "PK");
  const source = { ...own, ledgerFile: join(own.home, "ledger.sqlite3") } as SnapshotSource;
  const input = {
    source,
    file,
    replace: true,
    passphrase: undefined,
    note: { file, encrypted: false, scheduled: false },
  };
  await expect(makeBackup(input, new Steps())).rejects.toMatchObject({
    code: "CONFIG_USAGE",
  });
  expect([readFileSync(file, "utf8"), readdirSync(own.home)]).toEqual(["PK", ["palace"]]);
});

test("the home itself may be the backup folder, if its backups have the usual names", () => {
  assertTarget({ file: join(own.home, backupName("0123abcd", new Date(), false)), replace: false }, own);
});

test.each([false, true])("git ignores a backup in this clone (encrypted: %s)", (isEncrypted) => {
  const rules = new Gitignore(readFileSync(join(ROOT, ".gitignore"), "utf8"));
  expect(rules.test(backupName("0123abcd", new Date(), isEncrypted))).toMatchObject({ ignored: true });
});
