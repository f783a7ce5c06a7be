/** One transaction stores a group of writes. A write that fails leaves no row and does not affect the others. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApplyWrite, LedgerWriter } from "../../../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../../../src/memory/port/ledger.ts";

let folder: string;
let file: string;
let writer: LedgerWriter;

/** Files one drawer per id. With `fail` it throws afterwards, like a write that fails half-way. */
const apply: ApplyWrite = (tx, { params }) => {
  const ids = params["ids"] as string[];
  tx.insertDrawers(ids.map((id) => ({ id, text: `words of ${id}`, metadata: { wing: "w", room: "r" } })));
  if (params["fail"] === true) throw new Error("broken half-way");
  return { filed: ids.length };
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, apply);
});

afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function call(key: string, params: Record<string, unknown>, atMs = 1): WriteCall {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  return { key, isRepeatable: true, method: "test.file", params, peer, requestId: key, atMs };
}

function read<T>(sql: string): T[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare(sql).pluck().all() as T[];
  } finally {
    database.close();
  }
}

test("a write that fails half-way leaves no row, and the other writes of its group are kept", () => {
  const { outcomes, changes } = writer.commit([
    call("one", { ids: ["a"] }),
    call("two", { ids: ["b", "c"], fail: true }),
    call("three", { ids: ["d"] }),
    call("four", { ids: ["e", "e"] }),
    call("five", { ids: ["f"] }),
  ]);
  expect(outcomes.map(({ outcome }) => outcome.ok)).toEqual([true, false, true, false, true]);
  expect(changes.added).toBe(3);
  expect(read("SELECT id FROM drawer ORDER BY row")).toEqual(["a", "d", "f"]);
  expect(read("SELECT key FROM journal ORDER BY seq")).toEqual(["one", "three", "five"]);
  expect(read("SELECT drawers FROM place")).toEqual([3]);
  expect(read("SELECT rowid FROM drawer_fts WHERE drawer_fts MATCH 'words'")).toEqual(
    read("SELECT row FROM drawer ORDER BY row"),
  );
});

test("a write repeated with its key gets the same answer and is not done again, even if both calls are in one commit", () => {
  const twice = [call("k", { ids: ["a"] }), call("k", { ids: ["a"] })];
  expect(writer.commit(twice).outcomes.map(({ replayed }) => replayed)).toEqual([false, true]);
  expect(writer.commit([call("k", { ids: ["a"] })]).outcomes[0]).toEqual({
    outcome: { ok: true, value: { filed: 1 } },
    replayed: true,
  });
  expect(read("SELECT id FROM drawer")).toEqual(["a"]);
});

test("if the clock jumps far ahead, each check counts only one day, so no key expires at once", () => {
  const DAY_MS = 86_400_000;
  const retention = { journalRetentionMs: 90 * DAY_MS, undoMs: 90 * DAY_MS, imagesBytes: 1e9 };
  const t0 = 1_000 * DAY_MS;
  writer.commit([call("key", { ids: ["a"] }, t0)]);
  writer.prune(retention, t0);
  for (let look = 0; look < 24; look++) writer.prune(retention, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual(["key"]);
  // Pruning continues after the clock was set back. If the clock is far ahead, each check counts at most one day.
  writer.prune(retention, t0);
  for (let look = 0; look < 90; look++) writer.prune(retention, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual(["key"]);
  for (let look = 0; look < 2; look++) writer.prune(retention, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual([]);
});

test("keys expire by the machine's running time, and not by a wrong clock or by a hundred broker starts", () => {
  const DAY_MS = 86_400_000;
  const retention = { journalRetentionMs: 90 * DAY_MS, undoMs: 90 * DAY_MS, imagesBytes: 1e9 };
  const t0 = 1_000 * DAY_MS;
  const start = (uptimeMs: number, wallMs: number): void => {
    writer.close();
    writer = new LedgerWriter(file, apply);
    while (writer.maintain(retention, { wallMs, uptimeMs, bootId: "boot" }));
  };
  writer.commit([call("key", { ids: ["a"] }, t0)]);
  start(DAY_MS, t0);
  for (let nth = 0; nth < 100; nth++) start(DAY_MS + nth * 60_000, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual(["key"]);
  start(40 * DAY_MS, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual(["key"]);
  start(80 * DAY_MS, t0 + 400 * DAY_MS);
  expect(read("SELECT key FROM journal")).toEqual([]);
});

test("one write from a clock that was ahead does not stop the deletion of old keys, and no key younger than the limit is deleted", () => {
  const DAY_MS = 86_400_000;
  const retention = { journalRetentionMs: 90 * DAY_MS, undoMs: 90 * DAY_MS, imagesBytes: 1e9 };
  const t0 = 1_000 * DAY_MS;
  let nth = 0;
  const at = (days: number): unknown => writer.commit([call(`${days}`, { ids: [`${nth++}`] }, t0 + days * DAY_MS)]);
  const keys = (now: number): string[] => {
    while (writer.prune(retention, t0 + now * DAY_MS, 1e15));
    return read("SELECT key FROM journal ORDER BY seq");
  };
  at(0);
  at(1460);
  // The write dated with day 1460 is kept as long as the next write (day 100), because its true age is unknown.
  for (let day = 100; day <= 400; day += 10) at(day);
  expect(keys(150)).toEqual(["1460", "100", ...read<string>("SELECT key FROM journal WHERE seq > 3 ORDER BY seq")]);
  expect(keys(195)[0]).toBe("110");
  expect(keys(400)).toEqual(["310", "320", "330", "340", "350", "360", "370", "380", "390", "400"]);
  expect(read("SELECT journal FROM change ORDER BY journal")).toHaveLength(10);
  expect(keys(800)).toEqual([]);
});

test("keys older than the limit are deleted, and younger keys are kept", () => {
  writer.commit([call("old", { ids: ["a"] }, 10), call("young", { ids: ["b"] }, 20)]);
  const older = (than: number): boolean => writer.prune({ journalRetentionMs: 0, undoMs: 0, imagesBytes: 1 }, than);
  older(20);
  expect(read("SELECT key FROM journal")).toEqual(["young"]);
  older(21);
  expect(read("SELECT key FROM journal")).toEqual([]);
});

test("before-images up to the size limit are kept, and a limit one byte lower deletes the before-images of the oldest write", () => {
  writer.commit([call("one", { ids: ["a"] })]);
  writer.commit([call("two", { ids: ["b"] })]);
  const [size] = read<number>("SELECT sum(octet_length(id) + 64) FROM change");
  const left = (imagesBytes: number): string[] => {
    while (writer.prune({ journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes }, 1));
    return read("SELECT id FROM change ORDER BY journal");
  };
  expect(left(size!)).toEqual(["a", "b"]);
  expect(left(size! - 1)).toEqual(["b"]);
});

test("a write without a change is journaled only if it may be repeated", () => {
  const nothing = { ids: [] };
  writer.commit([call("may", nothing), { ...call("must not", nothing), isRepeatable: false }]);
  writer.commit([{ ...call("changes", { ids: ["a"] }), isRepeatable: false }]);
  expect(read("SELECT key FROM journal ORDER BY seq")).toEqual(["may", "changes"]);
});

test("a drawer that was never sent to the public palace keeps its text, whatever text the public palace has under its id", () => {
  writer.commit([call("one", { ids: ["a", "b"] })]);
  const row = (id: string, text: string) => ({ id, text, metadata: { wing: "w", room: "r" }, vector: undefined });
  const taken = (...rows: ReturnType<typeof row>[]): number =>
    writer.adopt({ rows, removed: [], model: undefined }).taken;
  expect([taken(row("a", "another")), taken(row("a", "another")), taken(row("a", "a third"))]).toEqual([0, 0, 0]);
  // If the public palace has the drawer with the ledger's text, the ledger adopts later changes of the drawer.
  expect([taken(row("b", "words of b")), taken(row("b", "changed there"))]).toEqual([0, 1]);
  expect(read("SELECT text FROM drawer ORDER BY id")).toEqual(["words of a", "changed there"]);
});
