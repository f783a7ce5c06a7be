/** Tests which drawers the outbox sends again after the public palace was replaced. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWrite } from "../../../../src/broker/tools/writes.ts";
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

function countOf(table: string): number {
  const ledger = new Database(file, { readonly: true });
  const count = ledger.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  ledger.close();
  return count;
}

function retarget(target: string): void {
  while (writer.outbox.retarget(target));
}

let keys = 0;
function write(method: string, params: Record<string, unknown>): Record<string, unknown> {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = { key: `k${++keys}`, isRepeatable: true, method, params, peer, requestId: "r", atMs: 1 };
  const [done] = writer.commit([call]).outcomes;
  expect(done?.outcome).toMatchObject({ ok: true });
  return done?.outcome.ok === true ? (done.outcome.value as Record<string, unknown>) : {};
}

/** Returns the ids of the removals that are kept for earlier palaces. */
function kept(): string[] {
  const ledger = new Database(file, { readonly: true });
  const keys = ledger.prepare<[], string>("SELECT key FROM meta WHERE key GLOB 'removed:outbox:?*'").pluck().all();
  ledger.close();
  return keys.map((key) => key.slice("removed:outbox:".length));
}

function waiting(): { id: string; seq: number }[] {
  const ledger = new Database(file, { readonly: true });
  const rows = ledger.prepare<[], { id: string; seq: number }>("SELECT id, seq FROM outbox").all();
  ledger.close();
  return rows;
}

/** Returns a column of the only drawer. */
function ofDrawer<T>(column: string): T | undefined {
  const ledger = new Database(file, { readonly: true });
  const value = ledger.prepare<[], T>(`SELECT ${column} FROM drawer`).pluck().get();
  ledger.close();
  return value;
}

const onlyDrawer = (): string => ofDrawer<string>("id") ?? "";

/** Files a drawer with its vector, and sends it to the palace `target`. */
function sendTo(target: string): void {
  write("add_drawer", { wing: "w", room: "r", content: "text" });
  writer.storeVectors(
    [{ row: ofDrawer<number>("row") ?? 0, textVersion: 1, vector: new Float32Array([1, 0]) }],
    "model",
  );
  retarget(target);
  expect(waiting()).toHaveLength(1);
  writer.outbox.done(waiting());
  expect(waiting()).toEqual([]);
}

test.each([
  ["the same palace", "file:/p#1", "file:/p#1", 0],
  ["a folder whose collection was made again", "file:/p#1", "file:/p#2", 0],
  ["another folder", "file:/p#1", "file:/q#1", 1],
  ["a folder after a server", "http://h/t/d/c#1", "file:/p#1", 1],
  ["a server after a folder", "file:/p#1", "http://h/t/d/c#1", 1],
  ["a server whose collection was made again", "http://h/t/d/c#1", "http://h/t/d/c#2", 1],
])("%s gets a drawer again only if the drawer may be missing there", (_what, before, after, times) => {
  sendTo(before);
  retarget(after);
  expect(waiting()).toHaveLength(times);
});

test("a drawer that was deleted while another palace was in use is also removed from the earlier palace", () => {
  sendTo("file:/p#1");
  retarget("http://h/t/d/c#2");
  writer.outbox.done(waiting());
  const id = onlyDrawer();
  write("delete_drawer", { drawer_id: id });
  writer.outbox.done(waiting());
  writer.close();
  writer = new LedgerWriter(file, applyWrite);
  retarget("file:/p#1");
  expect(waiting().map((entry) => entry.id)).toEqual([id]);
  writer.outbox.done(waiting());
  // Both palaces have the removal now. A drawer that another program files there under the same id stays.
  expect(kept()).toEqual([]);
  retarget("http://h/t/d/c#2");
  expect(waiting()).toEqual([]);
  retarget("file:/p#1");
  expect(waiting()).toEqual([]);
});

test("a drawer that is deleted while the outbox lists the rows for another palace is also removed from the earlier palace", () => {
  sendTo("file:/p#1");
  const id = onlyDrawer();
  // Files more rows than the outbox lists in one step, and gives them vectors, because it lists only rows with a vector.
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = (content: string) => {
    const params = { wing: "w", room: "r", content };
    return { key: content, isRepeatable: true, method: "add_drawer", params, peer, requestId: "r", atMs: 1 };
  };
  writer.commit(Array.from({ length: 2_500 }, (_, at) => call(`text ${at}`)));
  const ledger = new Database(file, { readonly: true });
  const rows = ledger.prepare<[], number>("SELECT row FROM drawer").pluck().all();
  ledger.close();
  const vector = new Float32Array([1, 0]);
  writer.storeVectors(
    rows.map((row) => ({ row, textVersion: 1, vector })),
    "model",
  );
  writer.outbox.done(waiting());
  expect(writer.outbox.retarget("http://h/t/d/c#2")).toBe(true);
  write("delete_drawer", { drawer_id: id });
  retarget("http://h/t/d/c#2");
  writer.outbox.done(waiting());
  expect(kept()).toEqual([id]);
  retarget("file:/p#1");
  expect(waiting().map((entry) => entry.id)).toContain(id);
  writer.outbox.done(waiting());
  // Both palaces have the removal now, so the outbox does not list it again when the palace changes.
  expect(kept()).toEqual([]);
  for (const target of ["http://h/t/d/c#2", "file:/p#1"]) {
    expect(writer.outbox.retarget(target)).toBe(true);
    retarget(target);
    expect(waiting().map((entry) => entry.id)).not.toContain(id);
    writer.outbox.done(waiting());
    expect(kept()).toEqual([]);
  }
});

test("a drawer that is filed again after its removal is not removed from an earlier palace", () => {
  sendTo("file:/p#1");
  retarget("http://h/t/d/c#2");
  const id = onlyDrawer();
  write("delete_drawer", { drawer_id: id });
  writer.outbox.done(waiting());
  sendTo("http://h/t/d/c#2");
  // The palace `file:/p#1` still has the first drawer, so the removal is kept until that palace gets the second drawer.
  expect(kept()).toEqual([id]);
  retarget("file:/p#1");
  expect(waiting().map((entry) => entry.id)).toEqual([id]);
  expect(onlyDrawer()).toBe(id);
  writer.outbox.done(waiting());
  expect(kept()).toEqual([]);
});

test("a removal that is unsent when another palace comes into use reaches both palaces", () => {
  sendTo("file:/p#1");
  const id = onlyDrawer();
  write("delete_drawer", { drawer_id: id });
  retarget("http://h/t/d/c#2");
  expect(waiting().map((entry) => entry.id)).toEqual([id]);
  writer.outbox.done(waiting());
  retarget("file:/p#1");
  expect(waiting().map((entry) => entry.id)).toEqual([id]);
});

test("a removal is not kept if no earlier palace can have the drawer", () => {
  sendTo("file:/p#1");
  retarget("http://h/t/d/c#2");
  const first = onlyDrawer();
  for (const content of ["filed later", "filed later still"]) {
    const id = String(write("add_drawer", { wing: "w", room: "r", content })["drawer_id"]);
    write("delete_drawer", { drawer_id: id });
  }
  writer.outbox.done(waiting());
  expect(kept()).toEqual([]);
  write("delete_drawer", { drawer_id: first });
  expect(kept()).toEqual([first]);
});

test("no removal is sent to a palace that was not in use before", () => {
  sendTo("file:/p#1");
  retarget("http://h/t/d/c#2");
  write("delete_drawer", { drawer_id: onlyDrawer() });
  writer.outbox.done(waiting());
  retarget("file:/q#3");
  expect(waiting()).toEqual([]);
});

test.each([
  ["whose collection was made again", "file:/p#2"],
  ["that a server serves from the same folder", "http://h/t/d/c#1"],
])("a palace %s gets no removal twice", (_what, after) => {
  sendTo("file:/p#1");
  write("delete_drawer", { drawer_id: onlyDrawer() });
  writer.outbox.done(waiting());
  retarget(after);
  retarget("file:/p#1");
  expect(waiting()).toEqual([]);
});

test("the outbox lists a large ledger in parts, other writes run in between, and after a kill the list begins again", () => {
  const drawers = 2_500;
  const text = Array.from({ length: drawers }, (_, at) => `text ${at}`).join("\n");
  const cut = { size: 10, overlap: 0, sizeMin: 1 };
  write("source.replace", {
    wing: "w",
    room: "r",
    sourceFile: "/s",
    mtime: 1,
    sha256: "0",
    content: text,
    addedBy: "a",
    cut,
  });
  const rows = countOf("drawer");
  expect(rows).toBeGreaterThan(2_000);
  const vector = new Float32Array([1, 0]);
  writer.storeVectors(
    Array.from({ length: rows }, (_, at) => ({ row: at + 1, textVersion: 1, vector })),
    "model",
  );
  writer.outbox.done(waiting());

  expect(writer.outbox.retarget("http://h/t/d/c#1")).toBe(true);
  expect(waiting()).toHaveLength(2_000);
  write("add_drawer", { wing: "w", room: "r", content: "between two parts" });
  writer.close();
  writer = new LedgerWriter(file, applyWrite);
  writer.storeVectors([{ row: rows + 1, textVersion: 1, vector }], "model");
  retarget("http://h/t/d/c#1");
  expect(waiting()).toHaveLength(rows + 1);
  expect(writer.outbox.retarget("http://h/t/d/c#1")).toBe(false);
});
