import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LocalVectorIndex, openVectorIndex } from "../../../../../src/memory/index/vectors/vector-index.ts";
import {
  createLedger,
  insertDrawers,
  MIXED_FILTERS,
  mixedDrawers,
  passes,
  putVector,
} from "../../../../helpers/ledger-fixture.ts";
import { seededRandom } from "../../../../helpers/random.ts";

let home: string;
let ledger: Database;
let index: LocalVectorIndex | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "palace-vectors-"));
  ledger = createLedger(join(home, "ledger.sqlite3"));
});
afterEach(async () => {
  await index?.close();
  index = undefined;
  ledger.close();
  rmSync(home, { recursive: true, force: true });
});

/** Number of simultaneous calls, which is more than the index's thread accepts. */
const CALLS_AT_ONCE = 5_000;

const random = seededRandom(42);
const randomVector = (): Float32Array => {
  const vector = Float32Array.from({ length: 384 }, () => random() + random() + random() - 1.5);
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
};
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
/** Opens the index and queries it once. After that, only `refresh` makes changes visible to the index. */
const open = async (): Promise<LocalVectorIndex> => {
  index = openVectorIndex({ ledgerFile: join(home, "ledger.sqlite3") });
  await index.similarity(randomVector(), []);
  return index;
};
const rowsOf = async (vector: Float32Array, filter = {}, limit = 5): Promise<number[]> =>
  ((await index?.nearest(vector, filter, limit)) ?? []).map(({ row }) => row);

test("the vector index returns the rows and cosines of a plain exact search, also across batches", async () => {
  const vectors = Array.from({ length: 5000 }, randomVector);
  const rows = insertDrawers(
    ledger,
    vectors.map((vector, at) => ({ text: `drawer ${at}`, vector })),
  );
  const { nearest, around } = await open();
  for (const limit of [1, 10, 100]) {
    const query = randomVector();
    const expected = vectors.map((vector, at) => ({ row: rows[at] as number, score: dot(query, vector) }));
    expected.sort((a, b) => b.score - a.score);
    const found = await nearest(query, {}, limit);
    expect(found.map(({ row }) => row)).toEqual(expected.slice(0, limit).map(({ row }) => row));
    found.forEach(({ score }, at) => expect(score).toBeCloseTo(expected[at]?.score ?? 0, 5));
    const close = await around(query, {}, limit);
    expect(new Set(close).isSupersetOf(new Set(found.map(({ row }) => row)))).toBe(true);
    expect(close.length).toBeLessThan(4 * Math.max(100, limit));
  }
});

test("the vector index is exact even if many vectors are nearly equal", async () => {
  const centre = randomVector();
  const vectors = Array.from({ length: 300 }, () => {
    const near = centre.map((value) => value + (random() - 0.5) * 0.02);
    const length = Math.sqrt(dot(near, near));
    return near.map((value) => value / length);
  });
  const rows = insertDrawers(
    ledger,
    vectors.map((vector, at) => ({ text: `drawer ${at}`, vector })),
  );
  await open();
  const expected = vectors.map((vector, at) => ({ row: rows[at] as number, score: dot(centre, vector) }));
  expected.sort((a, b) => b.score - a.score);
  expect(await rowsOf(centre, {}, 10)).toEqual(expected.slice(0, 10).map(({ row }) => row));
});

test("a filter by wing, room or both leaves out other drawers", async () => {
  const vector = randomVector();
  const places = ["a/x", "a/y", "b/x", "b/y"];
  const rows = insertDrawers(
    ledger,
    places.map((place) => ({ text: place, wing: place.slice(0, 1), room: place.slice(2), vector })),
  );
  await open();
  const found = async (filter: object): Promise<string[]> =>
    (await rowsOf(vector, filter)).map((row) => places[rows.indexOf(row)] as string);
  expect(await found({})).toEqual(places);
  expect(await found({ wing: "b" })).toEqual(["b/x", "b/y"]);
  expect(await found({ room: "x" })).toEqual(["a/x", "b/x"]);
  expect(await found({ wing: "a", room: "y" })).toEqual(["a/y"]);
  expect(await found({ wing: "none" })).toEqual([]);
});

test("with a filter by wing, room, source or time, the vector index finds the same as a plain search of the matching drawers", async () => {
  const drawers = mixedDrawers(Array.from({ length: 600 }, (_, at) => ({ text: `${at}`, vector: randomVector() })));
  const rows = insertDrawers(ledger, drawers);
  await open();
  const query = randomVector();
  const byNearness = drawers
    .map((drawer, at) => ({ drawer, row: rows[at] as number, score: dot(query, drawer.vector) }))
    .sort((a, b) => b.score - a.score);
  for (const filter of MIXED_FILTERS) {
    const expected = byNearness.filter(({ drawer }) => passes(drawer, filter)).map(({ row }) => row);
    expect(await rowsOf(query, filter, 25), JSON.stringify(filter)).toEqual(expected.slice(0, 25));
  }
});

test("the similarity of a row without a vector is NaN, and similarities come in the given order", async () => {
  const [one, two] = [randomVector(), randomVector()];
  const [first, bare, second] = insertDrawers(ledger, [
    { text: "1", vector: one },
    { text: "2" },
    { text: "3", vector: two },
  ]);
  const { similarity } = await open();
  const [atSecond, atBare, atUnknown, atFirst] = await similarity(one, [second, bare, 999, first] as number[]);
  expect(atSecond).toBeCloseTo(dot(one, two), 5);
  expect([atBare, atUnknown]).toEqual([Number.NaN, Number.NaN]);
  expect(atFirst).toBeCloseTo(1, 5);
});

test("a refreshed vector index has the changes of a commit: added, updated, moved, re-worded and removed drawers", async () => {
  const [one, two, three, four] = [randomVector(), randomVector(), randomVector(), randomVector()];
  const rows = insertDrawers(ledger, [
    { text: "1", vector: one },
    { text: "2", vector: two },
    { text: "3", vector: three },
  ]);
  const [first, second, third] = rows as [number, number, number];
  const { refresh } = await open();
  expect(await rowsOf(one, {}, 1)).toEqual([first]);

  const [added] = insertDrawers(ledger, [{ text: "4", vector: four }]) as [number];
  await refresh({ written: [added], removed: [] });
  expect(await rowsOf(four, {}, 1)).toEqual([added]);

  const newer = randomVector();
  putVector(ledger, second, newer);
  await refresh({ written: [second], removed: [] });
  expect(await rowsOf(newer, {}, 1)).toEqual([second]);

  ledger.prepare("UPDATE drawer SET wing = 'elsewhere' WHERE row = ?").run(third);
  await refresh({ written: [third], removed: [] });
  expect(await rowsOf(three, { wing: "elsewhere" })).toEqual([third]);

  for (const table of ["vector", "vector_code"]) ledger.prepare(`DELETE FROM ${table} WHERE row = ?`).run(added);
  await refresh({ written: [added], removed: [] });
  expect(await rowsOf(four)).not.toContain(added);

  for (const table of ["vector", "vector_code", "drawer"])
    ledger.prepare(`DELETE FROM ${table} WHERE row = ?`).run(second);
  await refresh({ written: [], removed: [second] });
  expect((await rowsOf(newer)).sort()).toEqual([first, third]);
  // The index has moved the third drawer's code into the slot of the removed second drawer. A new vector must replace the code there.
  expect(await rowsOf(three, {}, 1)).toEqual([third]);
  putVector(ledger, third, two);
  await refresh({ written: [third], removed: [] });
  expect(await rowsOf(two)).toEqual([third, first]);
});

test("the first query finds a drawer that was committed before it", async () => {
  const late = (index = openVectorIndex({ ledgerFile: join(home, "ledger.sqlite3") }));
  const vector = randomVector();
  const [row = 0] = insertDrawers(ledger, [{ text: "early", vector }]);
  await late.refresh({ written: [row], removed: [] });
  expect(await rowsOf(vector)).toEqual([row]);
});

test("commits during the start of the index's thread are found, also after an earlier failed start", async () => {
  const file = join(home, "ledger.sqlite3");
  const late = (index = openVectorIndex({ ledgerFile: file }));
  renameSync(file, `${file}.away`);
  await expect(late.nearest(randomVector(), {}, 5)).rejects.toMatchObject({ code: "PALACE_GONE" });
  renameSync(`${file}.away`, file);
  const vectors = Array.from({ length: CALLS_AT_ONCE }, randomVector);
  const starting = late.nearest(vectors[0]!, {}, 5);
  const rows = insertDrawers(
    ledger,
    vectors.map((vector, at) => ({ text: `drawer ${at}`, vector })),
  );
  await Promise.all(rows.map((row) => late.refresh({ written: [row], removed: [] })));
  await starting;
  for (const at of [0, CALLS_AT_ONCE / 2, CALLS_AT_ONCE - 1]) expect(await rowsOf(vectors[at]!)).toContain(rows[at]);
  await late.close();
  await expect(late.nearest(randomVector(), {}, 5)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("an empty palace has no neighbours", async () => {
  await open();
  expect(await rowsOf(randomVector())).toEqual([]);
});

test("a vector of another length is refused as a vector of another model", async () => {
  const { nearest } = await open();
  await expect(nearest(new Float32Array(768), {}, 5)).rejects.toMatchObject({ code: "STORE_MODEL_MISMATCH" });
});

test("with a missing or invalid ledger each query fails with a typed error", async () => {
  const ask = (file: string): Promise<unknown> =>
    openVectorIndex({ ledgerFile: join(home, file) }).nearest(randomVector(), {}, 5);
  await expect(ask("none.sqlite3")).rejects.toMatchObject({ code: "PALACE_GONE" });
  writeFileSync(join(home, "text.sqlite3"), "no database".repeat(1000));
  await expect(ask("text.sqlite3")).rejects.toMatchObject({ code: "STORE_CORRUPT" });
});
