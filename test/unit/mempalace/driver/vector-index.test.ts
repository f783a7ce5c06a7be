/**
 * Tests a search for vectors through the palace's driver. The search itself then applies filters that the palace cannot apply, and
 * changes that the palace does not have yet.
 */
import { expect, test } from "vitest";
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
