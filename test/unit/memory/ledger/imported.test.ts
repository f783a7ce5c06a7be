/** Journal rows of another memory behave like the ledger's own rows when they are listed, repeated, pruned, forgotten and undone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROWS_OF } from "../../../../src/memory/backup/other-rows.ts";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../../src/memory/ledger/read/reader.ts";
import { SCHEMA_VERSION } from "../../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { ForgetSelector } from "../../../../src/memory/port/hygiene.ts";
import type { AuditEntry } from "../../../../src/protocol/hygiene.ts";
import type { ImportPart } from "../../../../src/protocol/import.ts";

type Answer = Record<string, unknown>;
const IMPORTER = "palace import x";
const KEPT = { journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes: 1e9 };

let folder: string;
let clock = 1_000_000;

/** Opens a separate ledger with an agent that writes to it. */
class Memory {
  readonly file: string;
  writer: LedgerWriter;

  constructor(name: string) {
    this.file = join(folder, name);
    this.writer = new LedgerWriter(this.file, applyWrite);
  }

  write(method: string, params: Answer, more: { agent?: string; findings?: unknown; key?: string } = {}): Answer {
    clock += 1000;
    const { agent = "ada", findings, key = `${this.file} ${clock}` } = more;
    const peer = { agent, door: "unix", uid: 0, pid: 1 };
    const call = { key, isRepeatable: true, method, params, peer, requestId: "r", atMs: clock, findings };
    const [done] = this.writer.commit([call]).outcomes;
    if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
    return done.outcome.value as Answer;
  }

  /** Merges drawers and the journal. Returns the number of new journal rows. */
  bring(other: Memory, from: string, kinds: readonly ("drawer" | "journal")[] = ["drawer", "journal"]): number {
    const ledger = new Database(other.file, { readonly: true });
    let added = 0;
    for (const kind of kinds) {
      const findings = { from, kind, items: [...ROWS_OF[kind](ledger)] } as ImportPart;
      const report = this.write("memory.import", { from, kind }, { agent: IMPORTER, findings });
      if (kind === "journal") added += Number(report["added"]);
    }
    ledger.close();
    return added;
  }

  history(limit = 100): AuditEntry[] {
    const reader = new SqliteLedgerReader(this.file);
    const found: AuditEntry[] = [];
    for (let before: { before?: number } = {}; ;) {
      const { entries, next } = reader.journal.page({ imported: true, limit, ...before });
      found.push(...entries);
      if (next === null) break;
      before = { before: next };
    }
    reader.close();
    return found;
  }

  rows(sql: string): unknown[] {
    const ledger = new Database(this.file, { readonly: true });
    const found = ledger.prepare(sql).pluck().all();
    ledger.close();
    return found;
  }

  forget(selector: ForgetSelector): Answer {
    return this.write("memory.forget", {}, { findings: selector });
  }

  undo(agent: string, sinceMs: number): Answer {
    return this.write("memory.undo", { agent, sinceMs, untilMs: clock }, { agent: "palace undo" });
  }
}

let host: Memory, stack: Memory;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  [host, stack] = [new Memory("host"), new Memory("stack")];
});
afterEach(() => {
  for (const { writer } of [host, stack]) writer.close();
  rmSync(folder, { recursive: true, force: true });
});

const note = (content: string): Answer => ({ wing: "w", room: "r", content });
const held = (memory: Memory, text: string): unknown[] =>
  memory.rows(`SELECT key FROM imported_journal WHERE instr(source || arguments || result, '${text}')
    UNION ALL SELECT id FROM change WHERE instr(before, '${text}')`);

test("another memory's journal rows are added once, even through a third memory, and keep agent, time and origin", () => {
  const texts = Array.from({ length: 5 }, (_, at) => `note ${at}`);
  const times = texts.map((text) => {
    host.write("add_drawer", note(text));
    return clock;
  });
  expect([stack.bring(host, "/home/h"), stack.bring(host, "/home/h"), stack.bring(host, "/b.tar")]).toEqual([5, 0, 0]);
  const third = new Memory("third");
  expect([third.bring(stack, "/stack"), third.bring(host, "/home/h"), host.bring(third, "/third")]).toEqual([5, 0, 0]);
  for (const memory of [stack, third]) {
    const listed = memory.history(2);
    expect(listed.map(({ at_ms: atMs }) => atMs)).toEqual(times.toReversed());
    expect(listed[0]).toMatchObject({ seq: 5, agent: "ada", method: "add_drawer", imported_from: "/home/h" });
    expect(listed.map(({ arguments: asked }) => asked["content"])).toEqual(texts.toReversed());
  }
  expect(stack.rows("SELECT count(*) FROM journal WHERE agent = 'ada'")).toEqual([0]);
  third.writer.close();
});

test("a call that was answered in the imported palace gets the same answer here, but runs again if its drawer has been deleted", () => {
  const diary = { agent_name: "ada", entry: "a day", topic: "t" };
  const { entry_id: id } = host.write("diary_write", diary, { key: "lost answer" });
  stack.bring(host, "/h");
  expect(stack.write("diary_write", diary, { key: "lost answer" })["entry_id"]).toBe(id);
  expect(stack.rows("SELECT count(*) FROM drawer")).toEqual([1]);
  stack.write("delete_drawer", { drawer_id: id });
  expect(stack.write("diary_write", diary, { key: "lost answer" })["entry_id"]).not.toBe(id);
  expect(stack.rows("SELECT count(*) FROM drawer")).toEqual([1]);
});

test("pruning deletes imported journal rows by the time of their write, and a later import does not bring them back", () => {
  host.write("add_drawer", note("old"));
  const old = clock;
  clock += 10_000_000;
  host.write("add_drawer", note("new"));
  expect(stack.bring(host, "/h")).toBe(2);
  stack.writer.prune({ ...KEPT, journalRetentionMs: 1_000_000 }, old + 2_000_000);
  expect(stack.history().map(({ arguments: asked }) => asked["content"])).toEqual(["new"]);
  expect(stack.bring(host, "/h")).toBe(0);
});

test("undo of an import removes its rows, and undo of the undo restores them", () => {
  host.write("add_drawer", note("one"));
  const before = clock;
  stack.bring(host, "/h");
  expect(stack.undo(IMPORTER, before)).toMatchObject({ removed: 2, refused: 0 });
  expect(stack.history()).toEqual([]);
  expect(stack.undo("palace undo", clock)).toMatchObject({ refused: 0 });
  expect(stack.history()).toMatchObject([{ agent: "ada", arguments: { content: "one" } }]);
});

test("forgetting removes texts, drawers and names of memories from imported journal rows and from before-images", () => {
  const { drawer_id: id } = host.write("add_drawer", note("zeppelin secret"), { key: "k" });
  host.write("add_drawer", note("other"));
  const memory = { id: "working_0123abcd", collection: "working", text: "airship", metadata: {} };
  host.write("outcome.import", { memories: [memory], isDry: false });
  const before = clock;
  stack.bring(host, "/h/balloon");
  stack.undo(IMPORTER, before);
  expect(held(stack, "zeppelin").length).toBeGreaterThan(0);
  const again = clock;
  expect(stack.bring(host, "/h/balloon")).toBe(3);
  expect(stack.forget({ ids: [String(id)] })).toMatchObject({ drawers: 1 });
  expect(held(stack, "zeppelin")).toEqual([]);
  expect(stack.rows("SELECT arguments FROM imported_journal WHERE key = 'k'")).toEqual(['{"forgotten":true}']);
  stack.forget({ ids: [memory.id] });
  expect(held(stack, "airship")).toEqual([]);
  stack.forget({ match: "balloon" });
  expect(held(stack, "balloon")).toEqual([]);
  expect(stack.history().length).toBe(3);
  // The rest of the write can still be undone. A repeated call does not file the text again.
  expect(stack.write("add_drawer", note("zeppelin secret"), { key: "k" })["drawer_id"]).toBe(id);
  expect(stack.undo(IMPORTER, again)).toMatchObject({ refused: 0 });
  expect(stack.history()).toEqual([]);
});

test("a ledger of version 14 gets the table for imported journal rows, and an import refuses damaged rows", () => {
  stack.writer.close();
  const old = new Database(stack.file);
  old.exec("DROP TABLE imported_journal");
  old.pragma("user_version = 14");
  old.close();
  stack.writer = new LedgerWriter(stack.file, applyWrite);
  expect(stack.rows("PRAGMA user_version")).toEqual([SCHEMA_VERSION]);
  host.write("add_drawer", note("one"));
  expect(stack.bring(host, "/h")).toBe(1);
  const bodies = ["[]", "x", '["/h",1,null,"f","m","a","d",0,0,"r","no JSON","{}","[]"]'];
  const items = bodies.map((body, at) => ({ id: `${at} k`, body }));
  const report = stack.write("memory.import", {}, { findings: { from: "/h", kind: "journal", items } });
  expect(report).toMatchObject({ added: 0, refused: [{ id: "0 k" }, { id: "1 k" }, { id: "2 k" }] });
});
