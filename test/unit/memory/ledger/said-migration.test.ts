/** Tests that older ledgers get the index of times and the counts by day when they are opened. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";

const DRAWERS = 3_000;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  const old = new Database(file);
  old.pragma("journal_mode = WAL");
  old.pragma(`application_id = ${APPLICATION_ID}`);
  old.exec(SCHEMA);
  old.exec("DROP INDEX drawer_said");
  const insert = old.prepare(
    "INSERT INTO drawer (id, wing, room, source_file, text, date_words, metadata) VALUES (?, ?, 'r', '', 'a text', '', ?)",
  );
  old.transaction(() => {
    for (let at = 0; at < DRAWERS; at++) {
      const moment = new Date(Date.UTC(2026, 0, 1) + at * 3_600_000).toISOString().slice(0, 19);
      insert.run(`d${at}`, `w${at % 3}`, JSON.stringify(at % 10 === 0 ? {} : { filed_at: moment }));
    }
    old.exec("INSERT INTO drawer_fts (drawer_fts) VALUES ('rebuild')");
  })();
  old.pragma("user_version = 5");
  old.close();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function contents(): { version: unknown; indexes: unknown[]; drawers: unknown[] } {
  const ledger = new Database(file, { readonly: true });
  const version = ledger.pragma("user_version", { simple: true });
  const indexes = ledger
    .prepare("SELECT name FROM sqlite_schema WHERE name IN ('drawer_filed', 'drawer_said')")
    .pluck()
    .all();
  const drawers = ledger.prepare("SELECT * FROM drawer ORDER BY row").all();
  expect(ledger.pragma("integrity_check", { simple: true })).toBe("ok");
  ledger.close();
  return { version, indexes, drawers };
}

test.each([
  [5, ""],
  [17, "CREATE INDEX drawer_filed ON drawer (json_extract(metadata, '$.filed_at'), wing, room)"],
])(
  "a ledger of version %i gets the index of times, keeps every drawer as it is, and lists windows of time from the index",
  (version, index) => {
    const old = new Database(file);
    old.exec(index);
    old.pragma(`user_version = ${version}`);
    old.close();
    const before = contents();
    expect(before.version).toBe(version);
    openForWriting(file).close();
    openForWriting(file).close();
    const after = contents();
    expect(after).toEqual({ version: SCHEMA_VERSION, indexes: ["drawer_said"], drawers: before.drawers });

    const reader = new SqliteLedgerReader(file);
    const { total, drawers } = reader.listDrawers({ since: "2026-01-11", before: "2026-01-12" }, 100, 0);
    // There is one drawer for each hour. The window has the rows 241 to 264, but each tenth drawer has no time: 241, 251 and 261.
    expect(total).toBe(21);
    expect(drawers.map(({ row }) => row)).toEqual(
      Array.from({ length: 24 }, (_, hour) => 241 + hour).filter((row) => row % 10 !== 1),
    );
    reader.close();
  },
);

test("after a kill during the indexing the next process finishes the migration", async () => {
  const before = contents();
  const script = join(folder, "half.mjs");
  const require = JSON.stringify(import.meta.resolve("better-sqlite3"));
  // This script stops just before the migration commits: it has written the index, but not the version.
  writeFileSync(
    script,
    `import Database from ${require};
     const { SAID_SCHEMA } = await import(${JSON.stringify(import.meta.resolve("../../../../src/memory/ledger/schema/said-index.ts"))});
     const ledger = new Database(process.argv[2]);
     ledger.exec("PRAGMA cache_size = 10; BEGIN IMMEDIATE");
     ledger.exec(SAID_SCHEMA);
     process.send("made");
     setInterval(() => {}, 1000);`,
  );
  const half = fork(script, [file], { execArgv: [] });
  await once(half, "message");
  half.kill("SIGKILL");
  await once(half, "exit");
  expect(contents()).toEqual(before);
  openForWriting(file).close();
  expect(contents()).toEqual({ version: SCHEMA_VERSION, indexes: ["drawer_said"], drawers: before.drawers });
});

test("a drawer whose time changes is found by its new time", () => {
  const ledger = openForWriting(file);
  ledger.prepare("UPDATE drawer SET metadata = ? WHERE id = 'd5'").run(JSON.stringify({ filed_at: "2031-01-01" }));
  ledger.prepare("DELETE FROM drawer WHERE id = 'd6'").run();
  ledger.close();
  const reader = new SqliteLedgerReader(file);
  expect(reader.listDrawers({ since: "2030-01-01" }, 10, 0).drawers.map(({ id }) => id)).toEqual(["d5"]);
  expect(
    reader.listDrawers({ since: "2026-01-01", before: "2026-01-01T07" }, 10, 0).drawers.map(({ id }) => id),
  ).toEqual(["d1", "d2", "d3", "d4"]);
  reader.close();
});

test("a migrated ledger of version 19 has the number of drawers of each day, and counts later changes", () => {
  const old = new Database(file);
  for (const name of ["insert", "delete", "move"]) old.exec(`DROP TRIGGER growth_${name}`);
  old.exec("DROP TABLE growth");
  old.pragma("user_version = 19");
  old.close();
  const ledger = openForWriting(file);
  ledger.prepare("UPDATE drawer SET metadata = ? WHERE id = 'd5'").run(JSON.stringify({ filed_at: "2031-01-01" }));
  ledger.prepare("DELETE FROM drawer WHERE id = 'd6'").run();
  ledger.close();
  const reader = new SqliteLedgerReader(file);
  const days = reader.growth();
  reader.close();
  expect(days.reduce((sum, { drawers }) => sum + drawers, 0)).toBe(DRAWERS - 1);
  // There is one drawer for each hour. On the first day d0, d10 and d20 have no time, d5 got another time and d6 was deleted.
  expect(days.slice(0, 2)).toEqual([
    { day: "", drawers: DRAWERS / 10 },
    { day: "2026-01-01", drawers: 19 },
  ]);
  expect(days.at(-1)).toEqual({ day: "2031-01-01", drawers: 1 });
});
