/** Tests the index in which a deleted drawer is found by a part of its id. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { deletedIdsByPart } from "../../../../src/memory/ledger/read/newest-pages.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";

let folder: string;
let file: string;
let writer: LedgerWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

let keys = 0;
function write(method: string, params: Record<string, unknown>): Record<string, unknown> {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++keys}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: 1 };
  const [done] = writer.commit([call]).outcomes;
  expect(done?.outcome).toMatchObject({ ok: true });
  return done?.outcome.ok === true ? (done.outcome.value as Record<string, unknown>) : {};
}

/** Files drawers and deletes all but the last. Returns their ids. */
function fileAndDelete(): string[] {
  const contents = ["one", "two", "a long note. ".repeat(200), "kept"];
  const ids = contents.map((content) => String(write("add_drawer", { wing: "w", room: "r", content })["drawer_id"]));
  for (const id of ids.slice(0, -1)) write("delete_drawer", { drawer_id: id });
  return ids;
}

test("a deleted drawer is found by the beginning of its id or hash, and the query reads only an index", () => {
  const ids = fileAndDelete();
  const statements: string[] = [];
  const ledger = new Database(file, { readonly: true, verbose: (sql) => statements.push(String(sql)) });
  try {
    for (const id of ids.slice(0, -1)) {
      expect(deletedIdsByPart(ledger, id.slice(0, -3), 10)).toEqual([id]);
      expect(deletedIdsByPart(ledger, id.slice(id.lastIndexOf("_") + 1).slice(0, 10), 10)).toEqual([id]);
    }
    expect(deletedIdsByPart(ledger, ids.at(-1) ?? "", 10)).toEqual([]);
    expect(deletedIdsByPart(ledger, "drawer_", 2)).toHaveLength(2);
    expect(deletedIdsByPart(ledger, "0123456789ab", 10)).toEqual([]);
    for (const sql of new Set(statements)) {
      const steps = ledger.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
      expect(steps.map(({ detail }) => detail)[0]).toContain("USING COVERING INDEX change_gone");
    }
  } finally {
    ledger.close();
  }
});

test("opening a ledger without the index of deleted drawers makes the index and keeps the ledger's version", () => {
  const [first = ""] = fileAndDelete();
  writer.close();
  const older = new Database(file);
  older.exec("DROP INDEX change_gone");
  const version = older.pragma("user_version", { simple: true });
  older.close();
  writer = new LedgerWriter(file, applyWrite);
  const ledger = new Database(file, { readonly: true });
  expect(ledger.pragma("user_version", { simple: true })).toBe(version);
  expect(ledger.prepare("SELECT name FROM sqlite_schema WHERE name = 'change_gone'").pluck().all()).toHaveLength(1);
  expect(deletedIdsByPart(ledger, first, 10)).toEqual([first]);
  ledger.close();
});
