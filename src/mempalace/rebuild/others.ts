/** Reads the collections of the palace that are not in the ledger (closets, leftovers), so that a rebuilt palace does not lose them. */
import type { PalaceRecord } from "../../memory/port/public-palace.ts";
import { openChroma, readCollections } from "../format/chroma-file.ts";
import { PalaceVectors, readRows } from "../format/palace-file.ts";

const PAGE_ROWS = 200;
const BUSY_TIMEOUT_MS = 5_000;
/** Suffix of the names of collections that a crash of upstream's repair leaves behind. */
const TEMPORARY = "__repair_tmp";

export type OtherCollection = { name: string; records: Map<string, PalaceRecord>; unreadable: number };

/** Reads all collections but `drawers`. If the palace cannot be read, returns none, and the reason in `why`. */
export function readOtherCollections(
  palaceDir: string,
  drawers: string,
): { collections: OtherCollection[]; why: string | undefined } {
  try {
    const database = openChroma(palaceDir, BUSY_TIMEOUT_MS);
    if (database === undefined) return { collections: [], why: undefined };
    try {
      const collections = readCollections(database)
        .filter(({ name }) => name !== drawers && !name.endsWith(TEMPORARY))
        .map((collection) => {
          const vectors = new PalaceVectors(database, palaceDir, collection);
          const other: OtherCollection = { name: collection.name, records: new Map(), unreadable: 0 };
          try {
            for (let after = 0; ;) {
              const page = readRows(database, collection, after, PAGE_ROWS);
              if (page.length === 0) return other;
              after = page.at(-1)?.row ?? after;
              for (const { id, text, metadata } of page) {
                const vector = vectors.vector(id);
                if (vector === undefined) other.unreadable += 1;
                else other.records.set(id, { id, text, metadata, vector });
              }
            }
          } finally {
            vectors.close();
          }
        });
      return { collections, why: undefined };
    } finally {
      database.close();
    }
  } catch (error) {
    return { collections: [], why: (error as Error).message };
  }
}
