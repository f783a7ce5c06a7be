/** Tests which memories import refuses. It refuses a pipe in place of a file, because copying a pipe would never end. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openOtherMemory } from "../../../../src/memory/backup/other-memory.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";

test.each([
  ["ledger.sqlite3", []],
  ["ledger.sqlite3-wal", ["ledger.sqlite3"]],
  ["ledger.sqlite3-journal", ["ledger.sqlite3"]],
  ["chroma.sqlite3", []],
  ["tunnels.json", ["chroma.sqlite3"]],
  ["hallways.json", ["chroma.sqlite3"]],
])("import refuses a memory in which %s is a pipe", async (name, files) => {
  const folder = mkdtempSync(join(tmpdir(), "other-memory-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [there, cacheDir] = [join(folder, "there"), join(folder, "cache")];
  mkdirSync(there);
  mkdirSync(cacheDir);
  for (const file of files) writeFileSync(join(there, file), "");
  execFileSync("mkfifo", [join(there, name)]);
  const opened = openOtherMemory(there, {
    ...{ cacheDir, ownFiles: [], makeLedger: () => undefined, onBytes: () => undefined },
    ...{ passphrase: () => Promise.reject(new Error("not asked")), signal: new AbortController().signal },
  });
  await expect(opened).rejects.toMatchObject({
    ...{ code: "CONFIG_USAGE", message: `${join(there, name)} is a pipe, a socket or a device` },
  });
  expect(readdirSync(cacheDir)).toEqual([]);
});

test("import refuses the running memory itself, also through a link, and opens another memory", async () => {
  const folder = mkdtempSync(join(tmpdir(), "other-memory-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [home, link, other, cacheDir] = ["home", "link", "other", "cache"].map((name) => join(folder, name)) as [
    ...[string, string, string, string],
  ];
  for (const made of [home, other, cacheDir]) mkdirSync(made);
  symlinkSync(home, link);
  for (const made of [home, other]) openForWriting(join(made, "ledger.sqlite3")).close();
  const open = (path: string) =>
    openOtherMemory(path, {
      ...{ cacheDir, ownFiles: [join(home, "ledger.sqlite3")], makeLedger: () => undefined, onBytes: () => undefined },
      ...{ passphrase: () => Promise.reject(new Error("not asked")), signal: new AbortController().signal },
    });
  for (const own of [home, link])
    await expect(open(own)).rejects.toMatchObject({
      code: "CONFIG_USAGE",
      message: `${own} is the running memory itself`,
    });
  const opened = await open(other);
  expect(opened.kind).toBe("home");
  opened.close();
  expect(readdirSync(cacheDir)).toEqual([]);
});
