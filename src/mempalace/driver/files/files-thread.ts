/** Thread with the connection to the palace's files, so that no commit delays the broker. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../../base/fault-point.ts";
import { serveThread } from "../../../base/thread.ts";
import type { PlaceFilter } from "../../../memory/port/drawer.ts";
import type { PalaceRecord } from "../../../memory/port/public-palace.ts";
import { countRows, PalaceVectors, readIds, readRows } from "../../format/palace-file.ts";
import { PalaceWriter } from "./palace-writer.ts";
import { cosine } from "../../format/cosine.ts";

export type FilesThreadData = {
  palaceDir: string;
  fault: string | undefined;
  collection: string | undefined;
  /** Id of the collection if this thread creates it. */
  plannedId: string;
};

export type FilesMethods = {
  /** Returns the collection's id, even before it exists. With `mayMend`, first moves an unusable index away; `torn`: why it was moved. */
  open(mayMend: boolean): { collectionId: string; torn: string | null };
  upsert(records: readonly PalaceRecord[]): void;
  remove(ids: readonly string[]): void;
  count(): number;
  ids(offset: number, limit: number): string[];
  query(vector: Float32Array, filter: PlaceFilter, limit: number): { id: string; cosine: number }[];
  close(): void;
};

const PAGE_ROWS = 500;

const { palaceDir, fault, collection, plannedId } = workerData as FilesThreadData;
armFault(fault);

await serveThread<FilesMethods>(() => {
  const writer = new PalaceWriter(palaceDir, collection, plannedId);
  return {
    open: (mayMend) => {
      const torn = mayMend ? writer.mend() : undefined;
      return { collectionId: writer.collectionId, torn: torn ?? null };
    },
    upsert: (records) => writer.upsert(records),
    remove: (ids) => writer.remove(ids),
    count: () => writer.read(countRows) ?? 0,
    ids: (offset, limit) => writer.read((database, collection) => readIds(database, collection, offset, limit)) ?? [],
    query: (vector, filter, limit) => nearest(writer, vector, filter, limit),
    close: () => writer.close(),
  };
});

/** Finds the nearest rows by comparing every row. Our own search uses the ledger instead. */
function nearest(
  writer: PalaceWriter,
  asked: Float32Array,
  { wing, room }: PlaceFilter,
  limit: number,
): { id: string; cosine: number }[] {
  const found = writer.read((database, collection) => {
    const vectors = new PalaceVectors(database, palaceDir, collection);
    try {
      const hits: { id: string; cosine: number }[] = [];
      for (let after = 0; ;) {
        const page = readRows(database, collection, after, PAGE_ROWS);
        if (page.length === 0) return hits;
        after = page.at(-1)?.row ?? after;
        for (const { id, metadata } of page) {
          if (wing !== undefined && metadata["wing"] !== wing) continue;
          if (room !== undefined && metadata["room"] !== room) continue;
          const vector = vectors.vector(id);
          if (vector !== undefined) hits.push({ id, cosine: cosine(asked, vector) });
        }
      }
    } finally {
      vectors.close();
    }
  });
  return (found ?? []).sort((a, b) => b.cosine - a.cosine).slice(0, limit);
}
