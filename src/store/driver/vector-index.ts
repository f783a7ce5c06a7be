/**
 * VectorIndex answered by the palace driver (MEMPALACE_VECTORS=chroma): past one machine the search runs where the vectors
 * are. Rows and cosines of single drawers come from the ledger, which holds every vector anyway.
 */
import type { Drawer, PalaceDriver, PlaceFilter, Scored, VectorIndex } from "../port.ts";

export type DriverVectorIndexOptions = {
  driver: PalaceDriver;
  reader: {
    findDrawer(id: string): Drawer | undefined;
    /** The stored vector of each row, undefined where there is none yet. */
    vectorsByRow(rows: readonly number[]): (Float32Array | undefined)[];
  };
};

export function driverVectorIndex({ driver, reader }: DriverVectorIndexOptions): VectorIndex {
  return {
    async nearest(vector: Float32Array, filter: PlaceFilter, limit: number): Promise<Scored[]> {
      const hits = await driver.query(vector, filter, limit);
      // The palace may be a little behind the ledger: a drawer that is gone here, or has moved, is left out.
      return hits.flatMap(({ id, cosine }) => {
        const drawer = reader.findDrawer(id);
        const fits =
          drawer !== undefined &&
          (filter.wing === undefined || drawer.wing === filter.wing) &&
          (filter.room === undefined || drawer.room === filter.room);
        return !fits ? [] : [{ row: drawer.row, score: cosine }];
      });
    },
    async similarity(vector, rows) {
      return reader.vectorsByRow(rows).map((stored) => (stored === undefined ? Number.NaN : dot(vector, stored)));
    },
    async refresh() {},
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
