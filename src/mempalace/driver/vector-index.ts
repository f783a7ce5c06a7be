/** Searches vectors through the palace driver (MEMPALACE_VECTORS=chroma), so that several machines share one Chroma server. */
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { unavailable } from "../../base/errors.ts";
import { within } from "../../base/time-limit.ts";
import type { Drawer, DrawerFilter } from "../../memory/port/drawer.ts";
import type { PalaceDriver } from "../../memory/port/public-palace.ts";
import { dotProduct, type Scored, type VectorIndex } from "../../memory/port/search.ts";

export type DriverVectorIndexOptions = {
  driver: PalaceDriver;
  reader: {
    findDrawer(id: string): Drawer | undefined;
    vectorsByRow(rows: readonly number[]): (Float32Array | undefined)[];
  };
  clock?: Clock;
};

/** Time that a search waits for the palace, ms. The search's own limit is longer, so that the answer can name the palace as the reason. */
const ANSWER_MAX_MS = 1_800;
/** Pause after a late answer, in which searches do not ask the palace, ms. Otherwise each search would wait for a palace that hangs. */
const PAUSE_MS = 10_000;

/** Number of nearest rows to request if we have to filter them here: the palace cannot filter by source, time or several wings. */
const WIDENED = 5_000;

export function driverVectorIndex({ driver, reader, clock = SYSTEM_CLOCK }: DriverVectorIndexOptions): VectorIndex {
  let pausedUntilMs = -Infinity;
  const inTime: PalaceDriver["query"] = async (...question) => {
    if (clock.now() >= pausedUntilMs) {
      const hits = await within(driver.query(...question), ANSWER_MAX_MS, clock);
      if (hits !== undefined) return hits;
      pausedUntilMs = clock.now() + PAUSE_MS;
    }
    const why = `the Chroma server did not answer a search within ${ANSWER_MAX_MS / 1000} s`;
    throw unavailable(why, "palace status");
  };
  const nearest = async (vector: Float32Array, filter: DrawerFilter, limit: number): Promise<Scored[]> => {
    const { wing, wings, room, sourceFile, since, before } = filter;
    const isNarrow = wings !== undefined || sourceFile !== undefined || since !== undefined || before !== undefined;
    const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
    const hits = await inTime(vector, place, isNarrow ? Math.max(limit, WIDENED) : limit);
    // Skips drawers that were deleted or moved in the ledger, because the palace may lag behind.
    const found = hits.flatMap(({ id, cosine }) => {
      const drawer = reader.findDrawer(id);
      return drawer === undefined || !passes(drawer, filter) ? [] : [{ row: drawer.row, score: cosine }];
    });
    return found.slice(0, limit);
  };
  return {
    nearest,
    around: async (vector, filter, limit) => (await nearest(vector, filter, limit)).map(({ row }) => row),
    async similarity(vector, rows) {
      return reader
        .vectorsByRow(rows)
        .map((stored) => (stored === undefined ? Number.NaN : dotProduct(vector, stored)));
    },
    async refresh() {},
  };
}

function passes({ wing, room, metadata }: Drawer, filter: DrawerFilter): boolean {
  const { source_file: source, filed_at: filed } = metadata;
  const isDated = typeof filed === "string" && /^\d{4}-\d\d-/.test(filed);
  return (
    (filter.wing === undefined || wing === filter.wing) &&
    (filter.wings === undefined || filter.wings.includes(wing)) &&
    (filter.room === undefined || room === filter.room) &&
    (filter.sourceFile === undefined || source === filter.sourceFile) &&
    (filter.since === undefined || (isDated && filed >= filter.since)) &&
    (filter.before === undefined || (isDated && filed < filter.before))
  );
}
