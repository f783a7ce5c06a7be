import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LedgerDatabase } from "../../../../src/memory/ledger/open.ts";
import { cacheStatements } from "../../../../src/memory/ledger/read/statement-cache.ts";

let database: LedgerDatabase;
beforeEach(() => {
  database = cacheStatements(new Database(":memory:"));
  database.exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4)");
});
afterEach(() => database.close());

const SQL = "SELECT a, b FROM t ORDER BY a";

test("the cache prepares a SQL statement once and resets its options for each use", () => {
  const first = database.prepare(SQL).pluck();
  expect(first.all()).toEqual([1, 3]);
  const again = database.prepare(SQL);
  expect(again).toBe(first);
  expect(again.all()).toEqual([
    { a: 1, b: 2 },
    { a: 3, b: 4 },
  ]);
  expect(database.prepare(SQL).raw().all()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(database.prepare(SQL).get()).toEqual({ a: 1, b: 2 });
});

test("the cache does not share a SQL statement that is being iterated", () => {
  const seen: unknown[] = [];
  for (const row of database.prepare(SQL).iterate()) {
    const [inner] = database.prepare(SQL).pluck().all();
    seen.push(row, inner);
  }
  expect(seen).toEqual([{ a: 1, b: 2 }, 1, { a: 3, b: 4 }, 1]);
});

test("a cached statement reads a column and a row that were added later", () => {
  expect(database.prepare("SELECT * FROM t").all()).toHaveLength(2);
  database.exec("ALTER TABLE t ADD COLUMN c DEFAULT 9");
  database.prepare("INSERT INTO t VALUES (5, 6, 7)").run();
  expect(database.prepare("SELECT * FROM t").all()).toContainEqual({ a: 5, b: 6, c: 7 });
});

test("the cache keeps a limited number of SQL statements", () => {
  const first = database.prepare(SQL);
  for (let at = 0; at < 1_000; at++) database.prepare(`SELECT ${at} AS n`).get();
  expect(database.prepare(SQL)).not.toBe(first);
});

test("the cache keeps two SQL statements with different texts", () => {
  const first = database.prepare(SQL);
  database.prepare("SELECT b FROM t").all();
  expect(database.prepare(SQL)).toBe(first);
});
