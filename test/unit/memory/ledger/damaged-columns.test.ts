import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { RESTORE_HINT } from "../../../../src/memory/ledger/json-column.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { WriteOutcome } from "../../../../src/memory/port/ledger.ts";

type Outcome = WriteOutcome["outcome"];

const AGENT = "ada";

let folder: string;
let file: string;
let id: string;
let clock = 1000;

function write(
  method: string,
  params: Record<string, unknown>,
  key = `k${(clock += 1000)}`,
  findings?: unknown,
): Outcome {
  const writer = new LedgerWriter(file, applyWrite);
  const peer = { agent: AGENT, door: "unix", uid: 0, pid: 1 };
  const call = { key, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock, findings };
  const [done = expect.fail("no outcome")] = writer.commit([call]).outcomes;
  writer.close();
  return done.outcome;
}

const score = (): Outcome => write("score_memories", { outcome: "unknown", memory_scores: { [id]: "worked" } });
const forget = (): Outcome => write("memory.forget", {}, "forget", { match: "words" });
const undo = (sinceMs: number): Outcome => write("memory.undo", { agent: AGENT, sinceMs, untilMs: clock });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  const made = write("add_drawer", { wing: "w", room: "r", content: "words" });
  id = made.ok ? (made.value as { drawer_id: string }).drawer_id : expect.fail(made.error.message);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function damage(sql: string): void {
  const ledger = new Database(file);
  expect(ledger.prepare(sql).run().changes).toBeGreaterThan(0);
  ledger.close();
}

function rows(): unknown {
  const ledger = new Database(file, { readonly: true });
  const tables = ["drawer", "journal", "change", "standing", "scored", "link", "carried_graph"];
  const found = tables.map((table) => ledger.prepare(`SELECT * FROM ${table}`).all());
  ledger.close();
  return found;
}

const WRITES: [column: string, sql: string, write: () => Outcome][] = [
  ["drawer.metadata", "UPDATE drawer SET metadata = '[]'", () => write("delete_drawer", { drawer_id: id })],
  ["standing.past", "UPDATE standing SET past = '{\"a\":1}'", score],
  [
    "change.before",
    `UPDATE change SET before = '{"text":1}' WHERE before IS NOT NULL AND kind = 'drawer'`,
    () => undo(0),
  ],
  [
    "change.before",
    `UPDATE change SET before = '[0.5,"x"]' WHERE before IS NOT NULL AND kind = 'standing'`,
    () => undo(clock),
  ],
  ["journal.result", "UPDATE journal SET result = 'nope'", () => write("add_drawer", ADDED, "again")],
  ["journal.arguments", "UPDATE journal SET arguments = 'nope'", forget],
  ["change.before", "INSERT INTO change (journal, kind, id, before) VALUES (1, 'imported', 'x', 'nope')", forget],
];
const ADDED = { wing: "w", room: "r", content: "more" };

test.each(WRITES)("a write that reads a damaged %s is refused and changes no row (%s)", (column, sql, repeat) => {
  write("add_drawer", ADDED, "again");
  write("update_drawer", { drawer_id: id, content: "other words" });
  score();
  score();
  damage(sql);
  const before = rows();
  expect(repeat()).toMatchObject({
    ok: false,
    error: { data: { code: "STORE_CORRUPT", hint: RESTORE_HINT }, message: expect.stringContaining(column) },
  });
  expect(rows()).toEqual(before);
});

test("a read of a damaged column names the column", () => {
  damage("UPDATE drawer SET metadata = '3'");
  damage("UPDATE journal SET arguments = '3'");
  const reader = new SqliteLedgerReader(file);
  expect(() => reader.findDrawer(id)).toThrow(/^drawer\.metadata of the ledger is damaged/);
  expect(() => reader.journal.page({ limit: 5 })).toThrow(/^journal\.arguments of the ledger is damaged/);
  reader.close();
});
