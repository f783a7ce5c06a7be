/** Checks that no version of MemPalace reads MemPalace's own log of writes. Therefore we do not write this log. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { MISSING_FILES } from "../../differential/differences.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import {
  mempalaceBin,
  mempalaceMissing,
  MEMPALACE_VERSIONS,
  type MempalaceVersion,
} from "../../helpers/python-mempalace.ts";

const [LOG = ""] = MISSING_FILES.map(({ file }) => file);

/** Returns every line of MemPalace's package that names the log's file or the variable with the log's path. */
function mentions(version: MempalaceVersion): string[] {
  const lib = join(dirname(mempalaceBin(version, "python")), "..", "lib");
  const [python = ""] = readdirSync(lib).filter((name) => name.startsWith("python"));
  const root = join(lib, python, "site-packages", "mempalace");
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".py"))
    .flatMap((name) => readFileSync(join(root, name), "utf8").split("\n"))
    .filter((line) => /_WAL_FILE\b|write_log/.test(line));
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  test.skipIf(missing !== undefined)(`MemPalace ${version} never reads its own log of writes`, () => {
    const opened = mentions(version).filter((line) => line.includes("open("));
    expect(opened.length).toBeGreaterThan(0);
    expect(opened.filter((line) => !line.includes("os.O_WRONLY"))).toEqual([]);
    expect(mentions(version).filter((line) => /read|load|import\b.*_WAL_FILE/.test(line))).toEqual([]);
  });
}

test("a tool's write is in the journal with its client and time, and not in a log of MemPalace", async () => {
  await using palace = createTestPalace();
  await using agent = await palace.shim();
  const drawer = { wing: "w", room: "r", content: "the audit is one row of the write's own transaction" };
  await agent.call("mempalace_add_drawer", drawer);
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare("SELECT method, door, uid, at_ms > 0 AS dated FROM journal").all();
  ledger.close();
  expect(rows).toEqual([{ method: "add_drawer", door: "unix", uid: process.getuid?.(), dated: 1 }]);
  expect(existsSync(join(palace.config.paths.settingsDir, LOG))).toBe(false);
});
