/** Tests the vector search through the palace's driver. */
import { expect, test } from "vitest";
import type { Clock } from "../../../../src/base/clock.ts";
import type { Drawer } from "../../../../src/memory/port/drawer.ts";
import { driverVectorIndex } from "../../../../src/mempalace/driver/vector-index.ts";
import { MIXED_FILTERS, mixedDrawers, passes } from "../../../helpers/ledger-fixture.ts";
import { MemoryDriver } from "../../../helpers/memory-driver.ts";

test("a search with a filter returns the matching drawers, nearest first", async () => {
  const fixtures = mixedDrawers(Array.from({ length: 200 }, (_, at) => ({ text: `text ${at}` })));
  const angle = (at: number): Float32Array => Float32Array.from([Math.cos(at / 100), Math.sin(at / 100)]);
  const drawers = fixtures.map((fixture, at): Drawer => {
    const { wing = "", room = "", sourceFile = "", filedAt, text } = fixture;
    const metadata = { wing, room, source_file: sourceFile, ...(filedAt !== undefined && { filed_at: filedAt }) };
    return { row: at + 1, id: `d${at}`, wing, room, text, metadata };
  });
  const driver = new MemoryDriver({ recordsMax: 200 });
  await driver.open();
  await driver.upsert(drawers.map(({ id, text, metadata }, at) => ({ id, text, metadata, vector: angle(at) })));
  // The ledger deleted this drawer, but the palace still has it.
  const known = drawers.filter(({ row }) => row !== 200);
  const reader = { findDrawer: (id: string) => known.find((drawer) => drawer.id === id), vectorsByRow: () => [] };
  const { nearest } = driverVectorIndex({ driver, reader });
  for (const filter of [{}, ...MIXED_FILTERS]) {
    const expected = known.filter(({ row }) => passes(fixtures[row - 1] ?? { text: "" }, filter));
    const found = await nearest(angle(0), filter, 10);
    expect(
      found.map(({ row }) => row),
      JSON.stringify(filter),
    ).toEqual(expected.slice(0, 10).map(({ row }) => row));
  }
});

class HandClock implements Clock {
  #atMs = 0;
  #due: { atMs: number; call: () => void }[] = [];

  now(): number {
    return this.#atMs;
  }

  after(ms: number, call: () => void): { clear: () => void } {
    const timer = { atMs: this.#atMs + ms, call };
    this.#due.push(timer);
    return { clear: () => void (this.#due = this.#due.filter((one) => one !== timer)) };
  }

  pass(ms: number): void {
    this.#atMs += ms;
    for (const { atMs, call } of this.#due) if (atMs <= this.#atMs) call();
  }
}

test("one search waits for a palace that does not answer, and the next searches fail at once until a pause is over", async () => {
  let asked = 0;
  const driver = new MemoryDriver();
  await driver.open();
  let answer: () => Promise<{ id: string; cosine: number }[]> = () => new Promise(() => {});
  driver.query = () => {
    asked += 1;
    return answer();
  };
  const clock = new HandClock();
  const reader = { findDrawer: () => undefined, vectorsByRow: () => [] };
  const { around } = driverVectorIndex({ driver, reader, clock });
  const vector = Float32Array.from([1, 0]);
  const first = around(vector, {}, 10);
  clock.pass(2_000);
  await expect(first).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  for (let search = 0; search < 3; search++)
    await expect(around(vector, {}, 10)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(asked).toBe(1);
  clock.pass(9_000);
  await expect(around(vector, {}, 10)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(asked).toBe(1);

  answer = () => Promise.resolve([]);
  clock.pass(1_000);
  expect(await around(vector, {}, 10)).toEqual([]);
  expect(asked).toBe(2);
});
