/** `palace import adopt` of a folder that only looks like a palace left files in it, waited for ever, or reported an empty palace. */
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { createFilesDriver } from "../../../src/mempalace/driver/files.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const ROWS = 50;
const TIMEOUT_MS = 240_000;

async function makePalace(palaceDir: string): Promise<void> {
  const driver = createFilesDriver({ palaceDir, log: SILENT_LOG });
  await driver.open();
  const vector = (n: number): Float32Array => Float32Array.from({ length: 384 }, (_, at) => Math.sin(at * (n + 1)));
  await driver.upsert(
    Array.from({ length: ROWS }, (_, n) => ({
      ...{ id: `drawer_${n}`, text: `number ${n}`, metadata: { wing: "old", room: "r" }, vector: vector(n) },
    })),
  );
  await driver.close();
}

function change(palaceDir: string, sql: string): void {
  const database = new Database(join(palaceDir, "chroma.sqlite3"));
  database.pragma("foreign_keys = OFF");
  database.exec(sql);
  database.close();
}

const chroma = (dir: string): string => join(dir, "chroma.sqlite3");

const REFUSED: readonly (readonly [code: string, name: string, make: (dir: string) => void | Promise<void>])[] = [
  ["CONFIG_USAGE", "an empty folder", () => {}],
  ["CONFIG_USAGE", "an empty file", (dir) => writeFileSync(chroma(dir), "")],
  ["CONFIG_USAGE", "a folder of that name", (dir) => void mkdirSync(chroma(dir))],
  ["STORE_CORRUPT", "a text", (dir) => writeFileSync(chroma(dir), "no database ".repeat(1_000))],
  ["CONFIG_USAGE", "another database", (dir) => change(dir, "CREATE TABLE x (y)")],
  ["STORE_CORRUPT", "a lost table", async (dir) => (await makePalace(dir), change(dir, "DROP TABLE max_seq_id"))],
  ["STORE_CORRUPT", "lost segments", async (dir) => (await makePalace(dir), change(dir, "DELETE FROM segments"))],
  [
    "CONFIG_BAD_VALUE",
    "an older Chroma's",
    async (dir) => (await makePalace(dir), change(dir, "DELETE FROM migrations WHERE dir = 'metadb' AND version >= 5")),
  ],
];

it("adopt refuses a folder without a usable palace and leaves no file in it", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  for (const [code, name, make] of REFUSED) {
    const dir = join(palace.home, name);
    mkdirSync(dir);
    await make(dir);
    const before = readdirSync(dir);
    const { stdout } = await palace.run("palace", ["adopt", dir, "--json"]);
    const { error } = JSON.parse(stdout) as { error: { code: string; hint: string } };
    expect([name, error.code]).toEqual([name, code]);
    expect(error.hint, name).not.toBe("");
    expect(readdirSync(dir), name).toEqual(before);
  }
});

const TAKEN: readonly (readonly [name: string, sql: string])[] = [
  [
    "two databases",
    `INSERT INTO databases VALUES ('11111111-0000-0000-0000-000000000000', 'other', 'default_tenant');
     INSERT INTO collections (id, name, dimension, database_id, config_json_str, schema_str)
       SELECT '00000000-aaaa-0000-0000-000000000000', name, dimension, '11111111-0000-0000-0000-000000000000',
         config_json_str, schema_str FROM collections;
     INSERT INTO segments (id, type, scope, collection)
       SELECT 'of another ' || scope, type, scope, '00000000-aaaa-0000-0000-000000000000' FROM segments`,
  ],
  ["a hot log", ""],
];

it.each(TAKEN)("adopt accepts a palace with %s", { timeout: TIMEOUT_MS }, async (_name, sql) => {
  await using palace = createTestPalace();
  const dir = join(palace.home, "odd");
  await makePalace(dir);
  if (sql !== "") change(dir, sql);
  else heat(dir);
  const { code, stdout } = await palace.run("palace", ["adopt", dir, "--json"]);
  try {
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { drawers: ROWS, adoption: { state: "verified", rows: ROWS } },
    ]);
    const found = await palace.run("palace", ["search", "number 7", "--palace", dir, "--json"]);
    expect(found.stdout).toContain(sql === "" ? "only in the log" : '"number 7"');
  } finally {
    await palace.run("palace", ["stop", "--palace", dir]);
  }
});

/** Leaves the palace as a killed MemPalace would: its last writes are only in the write-ahead log. */
function heat(dir: string): void {
  const file = chroma(dir);
  const database = new Database(file);
  database.pragma("journal_mode = WAL");
  database.pragma("wal_autocheckpoint = 0");
  database.exec(
    "UPDATE embedding_metadata SET string_value = 'number 7, only in the log' WHERE string_value = 'number 7'",
  );
  for (const name of [file, `${file}-wal`]) copyFileSync(name, `${name}.kept`);
  database.close();
  for (const name of [file, `${file}-wal`]) copyFileSync(`${name}.kept`, name);
  for (const name of [`${file}-shm`, `${file}.kept`, `${file}-wal.kept`]) rmSync(name, { force: true });
}
