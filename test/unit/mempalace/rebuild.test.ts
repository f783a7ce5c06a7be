/** Tests exporting a palace without Chroma, which damage verify finds, and which files remain after a refused or cancelled export. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PalaceRecord } from "../../../src/memory/port/public-palace.ts";
import { PalaceWriter } from "../../../src/mempalace/driver/files/palace-writer.ts";
import { chromaFile, DRAWERS } from "../../../src/mempalace/format/chroma-file.ts";
import { ContentHash } from "../../../src/mempalace/rebuild/content-hash.ts";
import { type ExportInput, exportPalace } from "../../../src/mempalace/rebuild/export.ts";
import { Steps } from "../../../src/base/job-progress.ts";
import { tidy } from "../../../src/mempalace/rebuild/swap.ts";
import { verifyCollection } from "../../../src/mempalace/rebuild/verify.ts";
import { createLedger, insertDrawers } from "../../helpers/ledger-fixture.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "rebuild-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const unit = (seed: number): Float32Array => {
  const vector = Float32Array.from({ length: 8 }, (_, at) => Math.sin(seed * 7 + at));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};

function ledgerOf(texts: readonly string[], model: string, withVector = texts.length): ExportInput {
  const file = join(folder, "ledger.sqlite3");
  const ledger = createLedger(file);
  insertDrawers(
    ledger,
    texts.map((text, at) => ({ text, ...(at < withVector && { vector: unit(at) }) })),
  );
  ledger.prepare("INSERT INTO meta VALUES ('model', ?)").run(model);
  ledger.close();
  return {
    ...{ ledgerFile: file, palaceDir: join(folder, "home/palace"), home: join(folder, "home"), tag: "tag" },
    ...{
      collection: "mempalace_drawers",
      dir: join(folder, "out/palace"),
      chroma: null,
      lastRow: texts.length,
      partial: false,
    },
  };
}

test("an export has every drawer and names a model of MemPalace", async () => {
  const input = ledgerOf(["one", "two \uD800 lone", "three"], "all-MiniLM-L6-v2");
  const report = await exportPalace(input, new Steps());
  expect(report).toMatchObject({ drawers: 3, leftOut: 0, writer: "files" });
  expect(JSON.parse(readFileSync(join(input.dir, "mempalace_embedder.json"), "utf8"))).toEqual({
    [DRAWERS]: { model_name: "minilm", dimension: 0 },
  });
  const other = { ...input, dir: join(folder, "out/again") };
  const ledger = new Database(input.ledgerFile);
  ledger.exec("UPDATE meta SET value = 'custom:1' WHERE key = 'model'");
  ledger.close();
  expect((await exportPalace(other, new Steps())).hash).toBe(report.hash);
  expect(existsSync(join(other.dir, "mempalace_embedder.json"))).toBe(false);
});

test("a refused or cancelled export leaves no files", async () => {
  const input = ledgerOf(["one", "two"], "m", 1);
  await expect(exportPalace(input, new Steps())).rejects.toMatchObject({
    message: expect.stringMatching(/^1 of 2 drawers have no vector/) as string,
  });
  const cancelled = new Steps();
  cancelled.cancel();
  await expect(exportPalace({ ...input, partial: true }, cancelled)).rejects.toMatchObject({
    code: "BROKER_CANCELLED",
  });
  expect(readdirSync(join(folder, "out"))).toEqual([]);
  expect(await exportPalace({ ...input, partial: true }, new Steps())).toMatchObject({ drawers: 1, leftOut: 1 });
  // The export omits drawers filed after its request.
  const sooner = { ...input, dir: join(folder, "out/sooner"), lastRow: 1 };
  expect(await exportPalace(sooner, new Steps())).toMatchObject({ drawers: 1, leftOut: 0, later: 1 });
});

test("an export without any vector fails, and an empty memory becomes an empty palace", async () => {
  const input = ledgerOf(["one", "two"], "m", 0);
  for (const partial of [false, true])
    await expect(exportPalace({ ...input, partial }, new Steps())).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(/^none of the 2 drawers has a vector/) as string,
    });
  expect(readdirSync(join(folder, "out"))).toEqual([]);
  const nothing = { ...input, ledgerFile: join(folder, "empty.sqlite3"), lastRow: 0 };
  createLedger(nothing.ledgerFile).close();
  for (const partial of [false, true]) {
    const dir = join(folder, `out/empty-${partial}`);
    expect(await exportPalace({ ...nothing, dir, partial }, new Steps())).toMatchObject({ drawers: 0, leftOut: 0 });
    const database = new Database(join(dir, "chroma.sqlite3"), { readonly: true });
    expect(database.prepare("SELECT name FROM collections").pluck().all()).toEqual([DRAWERS]);
    database.close();
  }
});

test("an export for which no Chroma can run has the same hash as an export without Chroma, and says why no Chroma can run", async () => {
  const input = ledgerOf(["one", "two"], "m");
  // Simulates a C library that is too old: the npm package's binding does not load.
  const { NODE_OPTIONS: options, PATH: path } = process.env;
  Object.assign(process.env, { NODE_OPTIONS: "--no-addons", PATH: folder });
  try {
    const without = await exportPalace({ ...input, chroma: undefined }, new Steps());
    expect(without).toMatchObject({ drawers: 2, writer: "files" });
    expect(without.withoutChroma).toMatch(/^no Chroma can be run here \(.*cli\.mjs: .*chroma: .*ENOENT/);
    const dir = join(folder, "out/named");
    await expect(exportPalace({ ...input, dir, chroma: "no-such-chroma" }, new Steps())).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(readdirSync(join(folder, "out"))).toEqual(["palace"]);
    const plain = await exportPalace({ ...input, dir }, new Steps());
    expect([plain.hash, plain.withoutChroma]).toEqual([without.hash, undefined]);
  } finally {
    Object.assign(process.env, { PATH: path });
    if (options === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = options;
  }
});

const records: PalaceRecord[] = [0, 1, 2].map((n) => ({
  ...{ id: `d${n}`, text: `text ${n}`, metadata: { wing: "w", n, deep: n + 0.5, live: true }, vector: unit(n) },
}));

/** Writes the records, applies `damage` and verifies the result. */
async function verified(damage: (database: Database.Database) => void, expected = records): Promise<void> {
  const writer = new PalaceWriter(folder);
  writer.upsert(records);
  writer.close();
  const database = new Database(chromaFile(folder));
  damage(database);
  database.close();
  const hash = new ContentHash();
  for (const record of [...expected].reverse()) hash.add(record);
  const byId = new Map(expected.map((record) => [record.id, record]));
  const want = { rows: hash.rows, hash: hash.hex, record: (id: string) => byId.get(id) };
  await verifyCollection(folder, DRAWERS, want, () => Promise.resolve());
}

test("verification accepts an undamaged palace with its records in any order", async () => {
  await expect(verified(() => {})).resolves.toBeUndefined();
});

test("verification accepts a fraction that Chroma's server rounded to the next double, and no larger difference", async () => {
  const change = (by: number) => (database: Database.Database) =>
    database.prepare("UPDATE embedding_metadata SET float_value = float_value * ? WHERE key = 'deep'").run(1 + by);
  await expect(verified(change(Number.EPSILON))).resolves.toBeUndefined();
  await expect(verified(change(8 * Number.EPSILON))).rejects.toThrow("differ");
});

test.each([
  ["a text", "UPDATE embedding_metadata SET string_value = 'other' WHERE key = 'chroma:document' AND id = 1", "differ"],
  ["a number", "UPDATE embedding_metadata SET float_value = 9.5 WHERE key = 'deep' AND id = 2", "differ"],
  ["a row", "PRAGMA foreign_keys = OFF; DELETE FROM embeddings WHERE embedding_id = 'd1'", "2 rows instead of 3"],
  [
    "a vector",
    "UPDATE embeddings_queue SET vector = (SELECT vector FROM embeddings_queue WHERE id = 'd0')",
    "another vector",
  ],
  ["a queue", "DELETE FROM embeddings_queue WHERE id = 'd2'", "no vector"],
  ["an id", "UPDATE embeddings SET embedding_id = 'd9' WHERE embedding_id = 'd2'", "was not asked for"],
])("verification finds damage in %s", async (_what, sql, why) => {
  await expect(verified((database) => void database.exec(sql))).rejects.toMatchObject({
    code: "STORE_CORRUPT",
    message: expect.stringContaining(why) as string,
  });
});

test("the cleanup keeps a palace in which no export was started", () => {
  const writer = new PalaceWriter(folder);
  writer.upsert(records);
  writer.close();
  const before = readdirSync(folder);
  tidy(folder, "tag");
  expect(readdirSync(folder)).toEqual(before);
});
