/**
 * Tests every driver against the contract of PalaceDriver. Without a Chroma server the tests of the Chroma driver are skipped, and CI
 * fails.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SILENT_LOG } from "../../src/base/log.ts";
import type { Metadata } from "../../src/memory/port/drawer.ts";
import type { PalaceDriver, PalaceRecord } from "../../src/memory/port/public-palace.ts";
import { createChromaDriver } from "../../src/mempalace/driver/chroma.ts";
import { createFilesDriver } from "../../src/mempalace/driver/files.ts";
import type { ChromaTimeouts } from "../../src/mempalace/driver/limits.ts";
import { readChroma, readCollections } from "../../src/mempalace/format/chroma-file.ts";
import { PalaceVectors, readRowsById } from "../../src/mempalace/format/palace-file.ts";
import { chromaMissing, type ChromaServer, startChroma } from "../helpers/chroma-server.ts";
import { MemoryDriver } from "../helpers/memory-driver.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const DIMENSIONS = 12;

type Stored = { text: string; metadata: Metadata; vector: number[] };
type Palace = { driver: PalaceDriver; read: (id: string) => Promise<Stored | undefined> };

function record(id: string, axis: number, metadata: Metadata = { wing: "w", room: "r" }, text = `text of ${id}`) {
  const vector = new Float32Array(DIMENSIONS);
  vector[axis % DIMENSIONS] = 1;
  return { id, text, metadata, vector } satisfies PalaceRecord;
}

function many(count: number, from = 0): PalaceRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const one = record(`drawer_${from + i}`, i);
    // All vectors differ, because an HNSW index over many equal vectors is slow to build.
    one.vector[(i + 1) % DIMENSIONS] = i / count;
    return one;
  });
}

/** Declares the tests that every driver must pass. `make` opens a driver on an empty palace. */
function holdsTheContract(make: () => Promise<Palace>): void {
  test("opening a palace's driver again changes nothing", async () => {
    const { driver } = await make();
    const target = driver.target;
    await driver.upsert([record("a", 0)]);
    await driver.open();
    expect(await driver.count()).toBe(1);
    expect(driver.target).toBe(target);
  });

  test("a second write of a record leaves one record with the newest text, vector and metadata", async () => {
    const { driver, read } = await make();
    await driver.upsert([record("a", 0)]);
    await driver.upsert([record("a", 0)]);
    await driver.upsert([record("a", 3, { wing: "other", room: "r" }, "newer")]);
    expect(await driver.count()).toBe(1);
    const vector = Array.from(record("a", 3).vector);
    expect(await read("a")).toEqual({ text: "newer", metadata: { wing: "other", room: "r" }, vector });
  });

  test("of two records with the same id in one call, the driver keeps the later record", async () => {
    const { driver, read } = await make();
    await driver.upsert([
      record("a", 0, { wing: "w" }, "first"),
      record("b", 1),
      record("a", 2, { room: "r" }, "last"),
    ]);
    expect(await driver.count()).toBe(2);
    expect(await read("a")).toMatchObject({ text: "last", metadata: { room: "r" } });
  });

  test("new metadata replaces the old metadata as a whole", async () => {
    const { driver, read } = await make();
    await driver.upsert([record("a", 0, { wing: "w", room: "r", topic: "t", chunk_index: 3, live: true })]);
    await driver.upsert([record("a", 0, { wing: "w", added_by: "me" }), record("b", 1, { topic: "kept" })]);
    expect((await read("a"))?.metadata).toEqual({ wing: "w", added_by: "me" });
    await driver.upsert([record("a", 0, { topic: "back" })]);
    expect((await read("a"))?.metadata).toEqual({ topic: "back" });
    expect((await read("b"))?.metadata).toEqual({ topic: "kept" });
  });

  test("integers, floats, booleans and strings in metadata keep their value and type", async () => {
    const { driver, read } = await make();
    const metadata = {
      count: 7,
      zero: 0,
      negative: -3,
      mtime: 1764000000.25,
      yes: true,
      no: false,
      empty: "",
      text: "5",
    };
    await driver.upsert([record("a", 0, metadata)]);
    expect((await read("a"))?.metadata).toEqual(metadata);
  });

  test("the driver returns ids and texts of any script byte for byte", async () => {
    const { driver, read } = await make();
    const texts = ["", "ein Ö, 日本語, 👩‍👩‍👧, \u2028 and \u0000", "line\r\nfeeds\t", '\' " \\ {"json":1}'];
    const records = texts.map((text, i) => record(`drawer_日本_ü_${i}`, i, { wing: "wíng", room: text }, text));
    await driver.upsert(records);
    for (const { id, text } of records) expect(await read(id)).toMatchObject({ text, metadata: { room: text } });
    await driver.remove(records.map(({ id }) => id));
    expect(await driver.count()).toBe(0);
  });

  test("a removal can be repeated and ignores unknown ids", async () => {
    const { driver } = await make();
    await driver.upsert(many(3));
    await driver.remove(["drawer_1", "unknown", "drawer_1"]);
    await driver.remove(["drawer_1"]);
    await driver.remove([]);
    await driver.upsert([]);
    expect((await driver.ids(0, 10)).sort()).toEqual(["drawer_0", "drawer_2"]);
  });

  test("a record written again after its removal has none of its old metadata", async () => {
    const { driver, read } = await make();
    await driver.upsert([record("a", 0, { wing: "w", topic: "old" })]);
    await driver.remove(["a"]);
    await driver.upsert([record("a", 1, { wing: "w" })]);
    expect((await read("a"))?.metadata).toEqual({ wing: "w" });
  });

  test("the driver writes 5,000 records, and the pages of ids show each id exactly once", async () => {
    const { driver } = await make();
    const records = many(5_000);
    await driver.upsert(records);
    expect(await driver.count()).toBe(5_000);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 700) {
      const page = await driver.ids(offset, 700);
      expect(page.length).toBeLessThanOrEqual(700);
      if (page.length === 0) break;
      seen.push(...page);
    }
    expect(seen.length).toBe(5_000);
    expect(new Set(seen)).toEqual(new Set(records.map(({ id }) => id)));
  }, 600_000);

  test("a query with or without a filter by wing and room returns hits with their cosines, best first", async () => {
    const { driver } = await make();
    const near = record("near", 0, { wing: "w1", room: "r1" });
    near.vector[1] = 0.5;
    await driver.upsert([
      near,
      record("same", 0, { wing: "w1", room: "r2" }),
      record("across", 1, { wing: "w1", room: "r1" }),
      record("elsewhere", 0, { wing: "w2", room: "r1" }),
    ]);
    const asked = Float32Array.from(record("q", 0).vector, (value) => value * 3);
    const all = await driver.query(asked, {}, 10);
    expect(all.length).toBe(4);
    expect(all.map(({ cosine }) => cosine)).toEqual(all.map(({ cosine }) => cosine).toSorted((a, b) => b - a));
    expect(all.find(({ id }) => id === "same")?.cosine).toBeCloseTo(1, 5);
    expect(all.find(({ id }) => id === "near")?.cosine).toBeCloseTo(1 / Math.sqrt(1.25), 5);
    expect(all.find(({ id }) => id === "across")?.cosine).toBeCloseTo(0, 5);
    expect((await driver.query(asked, { wing: "w1" }, 10)).map(({ id }) => id)).toEqual(["same", "near", "across"]);
    expect((await driver.query(asked, { wing: "w1", room: "r1" }, 10)).map(({ id }) => id)).toEqual(["near", "across"]);
    expect((await driver.query(asked, { room: "r1" }, 1)).length).toBe(1);
    expect(await driver.query(asked, { wing: "nowhere" }, 10)).toEqual([]);
  });

  test("a query of an empty palace returns an empty result", async () => {
    const { driver } = await make();
    expect(await driver.count()).toBe(0);
    expect(await driver.ids(0, 10)).toEqual([]);
    expect(await driver.query(record("q", 0).vector, {}, 5)).toEqual([]);
  });

  test("the driver refuses a whole list of records if one vector has the wrong dimension", async () => {
    const { driver } = await make();
    await driver.upsert([record("a", 0)]);
    const wrong = { ...record("b", 0), vector: new Float32Array([1, 2, 3]) };
    await expect(driver.upsert([record("c", 1), wrong])).rejects.toMatchObject({ code: "CONFIG_BAD_VALUE" });
    expect(await driver.ids(0, 10)).toEqual(["a"]);
  });

  test("the driver refuses metadata with a number that is not finite", async () => {
    const { driver } = await make();
    const refused = driver.upsert([record("a", 0, { wing: "w", mtime: Number.NaN })]);
    await expect(refused).rejects.toMatchObject({ code: "CONFIG_BAD_VALUE" });
  });

  test("a closed driver refuses calls with the error STORE_UNAVAILABLE", async () => {
    const { driver } = await make();
    await driver.close();
    await expect(driver.count()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
}

describe("the driver of a palace in memory", () => {
  holdsTheContract(async () => {
    const driver = new MemoryDriver();
    await driver.open();
    const read = (id: string): Promise<Stored | undefined> => {
      const found = driver.read(id);
      return Promise.resolve(found && { text: found.text, metadata: found.metadata, vector: Array.from(found.vector) });
    };
    return { driver, read };
  });
});

describe("the driver of a palace in files", () => {
  const folders: string[] = [];
  const drivers: PalaceDriver[] = [];
  afterAll(async () => {
    for (const driver of drivers) await driver.close();
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  /** Reads a record from the palace's files, without the driver. */
  function readFiles(palaceDir: string, id: string): Stored | undefined {
    return readChroma(palaceDir, 1_000, (database) => {
      const [collection] = readCollections(database);
      if (collection === undefined) return undefined;
      const [row] = readRowsById(database, collection, [id]);
      const vector = new PalaceVectors(database, palaceDir, collection).vector(id);
      return row && vector && { text: row.text, metadata: row.metadata, vector: Array.from(vector) };
    });
  }

  holdsTheContract(async () => {
    const palaceDir = mkdtempSync(join(tmpdir(), "palace-contract-"));
    folders.push(palaceDir);
    const driver = createFilesDriver({ palaceDir, log: SILENT_LOG });
    drivers.push(driver);
    await driver.open();
    return { driver, read: (id) => Promise.resolve(readFiles(palaceDir, id)) };
  });
});

const TIMEOUTS: ChromaTimeouts = { readMs: 20_000, writeMs: 60_000, settleMs: 50 };

function chromaDriver(url: string, database: string, timeouts: Partial<ChromaTimeouts> = {}): PalaceDriver {
  const chroma = { url, token: undefined, tenant: "default_tenant", database };
  return createChromaDriver({ chroma, log: SILENT_LOG, timeouts: { ...TIMEOUTS, ...timeouts } });
}

const missing = chromaMissing();
if (missing !== undefined) process.stderr.write(`left out: the contract of the Chroma driver: ${missing}\n`);

test("CI runs the driver contract with a real Chroma server", () => {
  if (process.env["CI"] === "true") expect(missing).toBeUndefined();
});

describe.skipIf(missing)("the driver of a palace on a Chroma server", () => {
  let server: ChromaServer;
  beforeAll(async () => {
    server = await startChroma();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  async function collections(database: string): Promise<Record<string, unknown>[]> {
    const address = `${server.url}/api/v2/tenants/default_tenant/databases/${database}/collections`;
    return (await (await fetch(address)).json()) as Record<string, unknown>[];
  }

  /** Reads a record from the server as another Chroma client would, without the driver. */
  async function readRow(database: string, id: string): Promise<Stored | undefined> {
    const [collection] = await collections(database);
    const address = `${server.url}/api/v2/tenants/default_tenant/databases/${database}/collections/${String(collection?.["id"])}/get`;
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ids: [id], include: ["documents", "metadatas", "embeddings"] }),
    });
    const rows = (await response.json()) as { documents: string[]; metadatas: Metadata[]; embeddings: number[][] };
    const [text, metadata, vector] = [rows.documents[0], rows.metadatas[0], rows.embeddings[0]];
    return text === undefined || metadata === undefined || vector === undefined
      ? undefined
      : { text, metadata, vector };
  }

  holdsTheContract(async () => {
    const database = await server.createDatabase();
    const driver = chromaDriver(server.url, database);
    await driver.open();
    return { driver, read: (id) => readRow(database, id) };
  });

  test("the driver creates the same collection as MemPalace 3.11", async () => {
    const database = await server.createDatabase();
    await chromaDriver(server.url, database).open();
    const [collection, ...others] = await collections(database);
    expect(others).toEqual([]);
    expect(collection).toMatchObject({
      name: "mempalace_drawers",
      metadata: { "hnsw:space": "cosine", "hnsw:num_threads": 1, "hnsw:batch_size": 100, "hnsw:sync_threshold": 1000 },
      configuration_json: {
        hnsw: { space: "cosine", sync_threshold: 1000 },
        embedding_function: { type: "known", name: "default" },
      },
    });
  });

  test("the driver uses another client's collection and keeps the collection's metadata", async () => {
    const database = await server.createDatabase();
    const address = `${server.url}/api/v2/tenants/default_tenant/databases/${database}/collections`;
    const made = { name: "mempalace_drawers", metadata: { "hnsw:space": "cosine", "hnsw:sync_threshold": 50_000 } };
    await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(made),
    });
    const driver = chromaDriver(server.url, database);
    await driver.open();
    await driver.upsert([record("a", 0)]);
    expect(await collections(database)).toMatchObject([{ metadata: made.metadata }]);
  });

  test("drivers that open at the same time create one collection", async () => {
    const database = await server.createDatabase();
    const drivers = Array.from({ length: 4 }, () => chromaDriver(server.url, database));
    await Promise.all(drivers.map((driver) => driver.open()));
    expect(new Set(drivers.map(({ target }) => target)).size).toBe(1);
    expect(await collections(database)).toHaveLength(1);
  });

  test("the driver writes empty metadata as upstream does", async () => {
    const database = await server.createDatabase();
    const driver = chromaDriver(server.url, database);
    await driver.open();
    await driver.upsert([record("a", 0, { wing: "w" })]);
    await driver.upsert([record("a", 0, {})]);
    expect((await readRow(database, "a"))?.metadata).toEqual({ _repaired_empty_meta: true });
  });

  test("after its collection was deleted, the driver fails with STORE_UNAVAILABLE until it is opened again", async () => {
    const database = await server.createDatabase();
    const driver = chromaDriver(server.url, database);
    await driver.open();
    const target = driver.target;
    await driver.upsert([record("a", 0)]);
    const address = `${server.url}/api/v2/tenants/default_tenant/databases/${database}/collections/mempalace_drawers`;
    await fetch(address, { method: "DELETE" });
    await expect(driver.upsert([record("b", 0)])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await driver.open();
    expect(driver.target).not.toBe(target);
    expect(await driver.count()).toBe(0);
  });

  test("the error about a missing database names the setting to change", async () => {
    const opening = chromaDriver(server.url, "no_such_database").open();
    await expect(opening).rejects.toMatchObject({
      code: "CONFIG_BAD_VALUE",
      hint: expect.stringContaining("MEMPALACE_CHROMA_DATABASE") as string,
    });
  });

  test("after a SIGKILL Chroma still has every acknowledged record", async () => {
    const database = await server.createDatabase();
    const driver = chromaDriver(server.url, database);
    await driver.open();
    await driver.upsert(many(250));
    const lost = driver.upsert(many(20_000, 250)).catch((error: unknown) => error);
    await server.kill();
    expect(await lost).toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(driver.count()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await server.start();
    await driver.open();
    const held = new Set(await driver.ids(0, 20_250));
    expect(many(250).filter(({ id }) => !held.has(id))).toEqual([]);
    await driver.upsert(many(500));
    expect(new Set(await driver.ids(0, 500)).size).toBe(500);
    expect(await driver.query(record("q", 0).vector, { wing: "w" }, 3)).toHaveLength(3);
  });

  test("a write to a frozen Chroma times out and never overwrites a later write", async () => {
    const database = await server.createDatabase();
    const driver = chromaDriver(server.url, database, { readMs: 1_000, writeMs: 1_000 });
    // The default time limit of `vi.waitFor` (1 s) is too short on a busy machine.
    const patiently = (act: () => Promise<void>): Promise<void> => vi.waitFor(act, { timeout: 60_000 });
    await patiently(() => driver.open());
    await patiently(() => driver.upsert([record("a", 0, { wing: "w" }, "first")]));
    await server.pause();
    try {
      const cutOff = driver.upsert([record("a", 0, { wing: "w" }, "cut off")]);
      await expect(cutOff).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expect(driver.query(record("q", 0).vector, {}, 1)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expect(driver.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    } finally {
      await server.resume();
    }
    await patiently(() => driver.open());
    await patiently(() => driver.upsert([record("a", 0, { wing: "w" }, "newest")]));
    expect((await readRow(database, "a"))?.text).toBe("newest");
  });
});
