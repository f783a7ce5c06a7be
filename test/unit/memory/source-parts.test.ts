/** Tests documents that are sent in parts, on a real ledger. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chunkDocument } from "../../../src/memory/source/chunk.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SCHEMA_VERSION } from "../../../src/memory/ledger/schema/schema.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";
import { SOURCE_PART_MAX, SOURCE_PARTS_KEPT_MS, SOURCE_SIZE_MAX_BYTES } from "../../../src/protocol/limits.ts";

type Answer = Record<string, unknown>;
const SOURCE = { wing: "w", room: "r", sourceFile: "/f", sha256: "s", mtime: 1, addedBy: "t" };
const FOREVER = { journalRetentionMs: 1e15, undoMs: 1e15, imagesBytes: 1e9 };
const OUT_OF_ORDER = /^the part does not continue the earlier parts: .*; send all parts again$/;

let folder: string, file: string, writer: LedgerWriter;
let clock = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  file = join(folder, "ledger.sqlite3");
  writer = new LedgerWriter(file, applyWrite);
});
afterEach(() => {
  writer.close();
  rmSync(folder, { recursive: true });
});

/** Returns the value of a write, or the text of its error. */
function write(
  method: string,
  params: Answer,
  { key = `k${(clock += 1)}`, findings = {}, isRepeatable = true } = {},
): unknown {
  const peer = { agent: "a", door: "unix", uid: 0, pid: 1 };
  const call = { key, isRepeatable, method, params, peer, requestId: "r", atMs: clock, findings };
  const [done] = writer.commit([call]).outcomes;
  return done?.outcome.ok === true ? done.outcome.value : done?.outcome.error.message;
}
const part = (sending: string, from: number, content: string, key?: string): unknown =>
  write("source.part", { sourceFile: "/f", sending, from, content }, key === undefined ? {} : { key });
const replace = (sending: string, length: number): unknown =>
  write("source.replace", { ...SOURCE, parts: { sending, length } });

function rows(sql: string): unknown[] {
  const ledger = new Database(file, { readonly: true });
  const found = ledger.prepare(sql).pluck().all();
  ledger.close();
  return found;
}
const texts = (): unknown[] => rows("SELECT text FROM drawer ORDER BY row");
const waiting = (): unknown[] => rows("SELECT length FROM source_part ORDER BY start");
const lines = (about: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${about}, line ${at} 🦊 of a long document\n`).join("");

test("the old document stays until all parts are filed, and is then replaced as a whole", () => {
  const [old, long] = [lines("old", 50), lines("new", 200)];
  write("source.replace", { ...SOURCE, content: old });
  const before = texts();
  const cut = long.indexOf("line 90");
  expect(part("one", 0, long.slice(0, cut))).toEqual({ held: cut });
  expect(part("one", cut, long.slice(cut))).toEqual({ held: long.length });
  expect([texts(), rows("SELECT sha256 FROM source")]).toEqual([before, ["s"]]);
  const filed = replace("one", long.length);
  expect(filed).toEqual({ drawers: texts().length, removed: before.length });
  const inParts = rows("SELECT id || text FROM drawer ORDER BY id");
  expect(waiting()).toEqual([]);
  write("source.replace", { ...SOURCE, content: long });
  expect(rows("SELECT id || text FROM drawer ORDER BY id")).toEqual(inParts);
});

test("a part of a document that is sent again with its key counts once", () => {
  const answer = part("one", 0, "a".repeat(60), "key");
  expect(part("one", 60, "b".repeat(60))).toEqual({ held: 120 });
  expect(part("one", 0, "a".repeat(60), "key")).toEqual(answer);
  expect(waiting()).toEqual([60, 60]);
});

test("if two clients send one document, the document of the later client is filed, and the earlier client's document is refused", () => {
  part("one", 0, "a".repeat(60));
  part("two", 0, "b".repeat(70));
  expect(part("one", 60, "a".repeat(60))).toMatch(OUT_OF_ORDER);
  expect(replace("one", 60)).toMatch(OUT_OF_ORDER);
  expect(replace("two", 70)).toEqual({ drawers: 1, removed: 0 });
  expect(texts()).toEqual(["b".repeat(70)]);
  expect(replace("two", 70)).toMatch(OUT_OF_ORDER);
});

test("parts that were sent earlier do not overwrite a document that was filed or removed meanwhile", () => {
  part("one", 0, "a".repeat(60));
  write("source.replace", { ...SOURCE, content: "c".repeat(80) });
  expect(replace("one", 60)).toMatch(OUT_OF_ORDER);
  part("two", 0, "b".repeat(60));
  write("source.remove", { wing: "w", sourceFile: "/f" });
  expect(replace("two", 60)).toMatch(OUT_OF_ORDER);
  expect(texts()).toEqual([]);
});

test("source.remove is journaled if it deletes only the parts of an unfiled document, and not if it finds nothing", () => {
  const remove = (key: string): unknown =>
    write("source.remove", { wing: "w", sourceFile: "/f" }, { key, isRepeatable: false });
  remove("finds nothing");
  part("one", 0, "a".repeat(60));
  remove("finds parts");
  expect(rows("SELECT key FROM journal WHERE method = 'source.remove'")).toEqual(["finds parts"]);
});

test("a document with too many drawers, or with none, is not filed, and its parts are deleted", () => {
  write("source.replace", { ...SOURCE, content: "c".repeat(80) });
  part("one", 0, lines("long", 100));
  const parts = { sending: "one", length: lines("long", 100).length };
  expect(write("source.replace", { ...SOURCE, parts, drawersMax: 2 })).toMatchObject({ drawers: 0, removed: 0 });
  part("two", 0, "too short");
  expect(replace("two", 9)).toEqual({ drawers: 0, removed: 0 });
  expect([texts(), waiting()]).toEqual([["c".repeat(80)], []]);
});

test.each([
  [{ sourceFile: "" }, /sourceFile/],
  [{ sending: 5 }, /sending/],
  [{ content: "" }, /content must/],
  [{ content: "x".repeat(SOURCE_PART_MAX + 1) }, /content exceeds/],
  [{ from: -1 }, /from must/],
  [{ from: 1.5 }, /from must/],
  [{ from: SOURCE_SIZE_MAX_BYTES }, /the document exceeds/],
  [{ from: 1 }, OUT_OF_ORDER],
])("a part of a document with %j is refused", (change, why) => {
  expect(write("source.part", { sourceFile: "/f", sending: "one", from: 0, content: "text", ...change })).toMatch(why);
  expect(waiting()).toEqual([]);
});

test.each([5, "x", {}, { sending: "one" }, { sending: "one", length: 0 }, { sending: "", length: 9 }])(
  "parts of a document that are described as %j are refused",
  (parts) => expect(write("source.replace", { ...SOURCE, parts })).toMatch(/^parts must be an object/),
);

test("parts of a document that was never filed are deleted after a day, and whenever a text is forgotten", () => {
  clock = 1_000_000;
  part("one", 0, "a".repeat(60));
  writer.prune(FOREVER, clock + SOURCE_PARTS_KEPT_MS - 10);
  expect(waiting()).toEqual([60]);
  writer.prune(FOREVER, clock + SOURCE_PARTS_KEPT_MS + 10);
  expect(waiting()).toEqual([]);
  part("two", 0, "a".repeat(60));
  write("memory.forget", { by: "match" }, { findings: { match: "aaaa" } });
  expect(waiting()).toEqual([]);
});

test("a ledger of version 6 accepts parts after it was opened", () => {
  writer.close();
  const old = new Database(file);
  old.exec("DROP TABLE source_part");
  old.pragma("user_version = 6");
  old.close();
  writer = new LedgerWriter(file, applyWrite);
  expect(part("one", 0, "a".repeat(60))).toEqual({ held: 60 });
  expect(rows("PRAGMA user_version")).toEqual([SCHEMA_VERSION]);
});

test("chunks are cut between code points, wherever a surrogate pair is", () => {
  for (let lead = 0; lead < 12; lead++) {
    const text = `${"x".repeat(lead)}${"🦊 a🦊\n".repeat(lead)}${"🦊".repeat(1_000)}${"ab🦊".repeat(900)}`;
    const points = Array.from(text);
    const [first, second, ...more] = chunkDocument(text);
    expect(first?.text).toBe(points.slice(0, 800).join(""));
    expect(second?.text).toBe(points.slice(700, 1_500).join(""));
    expect(more.at(-1)?.text.endsWith("ab🦊")).toBe(true);
  }
});
