/** The files driver moved Chroma's position past a foreign record that was not applied yet, so Chroma never applied the record. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SILENT_LOG } from "../../src/base/log.ts";
import type { PalaceDriver, PalaceRecord } from "../../src/memory/port/public-palace.ts";
import { createFilesDriver } from "../../src/mempalace/driver/files.ts";
import { type ChromaDatabase, readCollections } from "../../src/mempalace/format/chroma-file.ts";
import { readMark, readRows } from "../../src/mempalace/format/palace-file.ts";
import { OPERATION } from "../../src/mempalace/format/queue.ts";

let palaceDir: string;
let driver: PalaceDriver;
let database: ChromaDatabase;

const record = (id: string): PalaceRecord => ({
  ...{ id, text: `text of ${id}`, metadata: { wing: "w", room: "r", count: 1 } },
  vector: new Float32Array(8).fill(0.1),
});

beforeEach(async () => {
  palaceDir = mkdtempSync(join(tmpdir(), "palace-foreign-"));
  driver = createFilesDriver({ palaceDir, log: SILENT_LOG });
  await driver.open();
  await driver.upsert(["a", "b", "c"].map(record));
  database = new Database(join(palaceDir, "chroma.sqlite3"));
});

afterEach(async () => {
  database.close();
  await driver.close();
  rmSync(palaceDir, { recursive: true });
});

/** Queues a record as Chroma does in its first transaction, but does not apply it. */
function queue(operation: number, id: string, metadata: string | null): number {
  const topic = `persistent://default/default/${ours().id}`;
  const vector = operation === OPERATION.delete ? null : Buffer.from(new Float32Array(8).fill(0.2).buffer);
  const { lastInsertRowid } = database
    .prepare(
      "INSERT INTO embeddings_queue (operation, topic, id, vector, encoding, metadata) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .run(operation, topic, id, vector, vector && "FLOAT32", metadata);
  return Number(lastInsertRowid);
}

function ours() {
  const [collection] = readCollections(database);
  if (collection === undefined) throw new Error("no collection");
  return collection;
}

const rows = () => Object.fromEntries(readRows(database, ours(), 0, 100).map((row) => [row.id, row]));
const found = (text: string): string[] =>
  database
    .prepare<[string], string>(
      `SELECT e.embedding_id FROM embeddings e JOIN embedding_fulltext_search f ON f.rowid = e.id
         WHERE f.string_value LIKE '%' || ? || '%' ORDER BY e.embedding_id`,
    )
    .pluck()
    .all(text);

it("before a write the driver applies the queued records of another program, in Chroma's order", async () => {
  const foreign = '{"chroma:document":"the stray\'s words","wing":"x","ratio":1.0,"live":true,"count":7,"gone":null}';
  queue(OPERATION.upsert, "stray", foreign);
  queue(OPERATION.update, "a", '{"count":null,"topic":"changed"}');
  queue(OPERATION.delete, "b", null);
  queue(OPERATION.add, "c", '{"wing":"ignored"}');
  queue(OPERATION.update, "nobody", '{"wing":"ignored"}');
  await driver.upsert([record("d")]);
  expect(Object.keys(rows()).sort()).toEqual(["a", "c", "d", "stray"]);
  expect(rows()).toMatchObject({
    stray: { text: "the stray's words", metadata: { wing: "x", ratio: 1, live: true, count: 7 } },
    a: { text: "text of a", metadata: { wing: "w", room: "r", topic: "changed" } },
    c: { metadata: { wing: "w" } },
  });
  expect(rows()["a"]?.metadata).not.toHaveProperty("count");
  const typed = database
    .prepare(
      "SELECT key, float_value AS real, int_value AS whole, bool_value AS bool FROM embedding_metadata WHERE key = ?",
    )
    .get("ratio");
  expect(typed).toEqual({ key: "ratio", real: 1, whole: null, bool: null });
  expect(found("stray")).toEqual(["stray"]);
  expect(found("text of")).toEqual(["a", "c", "d"]);
  const head = database.prepare("SELECT max(seq_id) FROM embeddings_queue").pluck().get();
  expect(readMark(database, ours().metadataSegment)).toBe(head);
});

it("the applied position stays before a queued record that we cannot apply, so Chroma applies it later", async () => {
  const before = queue(OPERATION.upsert, "listed", '{"chroma:document":"with a list","tags":["one","two"]}');
  await driver.upsert([record("d")]);
  await driver.remove(["a"]);
  expect(readMark(database, ours().metadataSegment)).toBe(before - 1);
  expect(Object.keys(rows()).sort()).toEqual(["b", "c", "d"]);
});
