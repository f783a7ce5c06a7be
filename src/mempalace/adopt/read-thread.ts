/** Thread that reads foreign rows of the palace, for one adoption. */
import { workerData } from "node:worker_threads";
import { openForReading } from "../../memory/ledger/open.ts";
import { serveThread } from "../../base/thread.ts";
import type { IdRecipe } from "../../memory/port/drawer.ts";
import type { ForeignRow } from "../../memory/port/public-palace.ts";
import { openChroma, readCollections } from "../format/chroma-file.ts";
import { readIdRecipe } from "../format/detect-id-recipe.ts";
import { guardPalace } from "../format/refusal.ts";
import { ForeignRows, type Horizon } from "./foreign-rows.ts";
import type { RowKind } from "./settled-rows.ts";

export type ReadThreadData = {
  ledgerFile: string;
  palaceDir: string;
  collectionId: string;
  horizon: Horizon;
  kind: RowKind;
};

export type ReadMethods = {
  opened(): { total: number; torn: string | null; recipe: IdRecipe | null };
  sample(limit: number): { text: string; vector: Float32Array }[];
  next(): { read: number; rows: ForeignRow[]; removed: string[]; done: boolean };
};

/** Maximum time to wait for another process's commit, ms. Chroma waits as long. */
const BUSY_TIMEOUT_MS = 5_000;

await serveThread<ReadMethods>(() => {
  const { ledgerFile, palaceDir, collectionId, horizon, kind } = workerData as ReadThreadData;
  const ledger = openForReading(ledgerFile);
  return guardPalace(palaceDir, () => {
    const palace = openChroma(palaceDir, BUSY_TIMEOUT_MS);
    const collection = palace && readCollections(palace).find(({ id }) => id === collectionId);
    if (palace === undefined || collection === undefined) throw new Error("the palace is gone");
    const foreign = new ForeignRows({ palace, palaceDir, collection, ledger, horizon, kind });
    const recipe = kind === "drawers" ? readIdRecipe(palace, collection) : undefined;
    return {
      opened: () => ({ total: foreign.total, torn: foreign.torn ?? null, recipe: recipe ?? null }),
      sample: (limit) => guardPalace(palaceDir, () => foreign.sample(limit)),
      next: () => guardPalace(palaceDir, () => foreign.next()),
    };
  });
});
