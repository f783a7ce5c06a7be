/** Adopts foreign rows and deletions from the public palace, without changing it. After a kill, the next run reads the palace again. */
import { faultPoint } from "../../base/fault-point.ts";
import type { Log } from "../../base/log.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import type { IdRecipe } from "../../memory/port/drawer.ts";
import type { Changes } from "../../memory/port/ledger.ts";
import type { AdoptionBatch } from "../../memory/port/public-palace.ts";
import type { Horizon } from "./foreign-rows.ts";
import type { RowKind } from "./settled-rows.ts";
import type { ModelFinding, Sample } from "./model-of.ts";
import type { ReadMethods, ReadThreadData } from "./read-thread.ts";

export type AdopterOptions = {
  palaceDir: string;
  ledgerFile: string;
  file: (batch: AdoptionBatch, kind: RowKind) => Promise<{ taken: number; changes: Changes }>;
  onFiled: (changes: Changes) => Promise<void>;
  /** Records which recipe made the ids of the palace's rows. */
  setRecipe: (recipe: IdRecipe) => Promise<void>;
  modelOf: (samples: readonly Sample[]) => Promise<ModelFinding>;
  log: Log;
};

export type AdoptionProgress = {
  read: number;
  total: number;
  taken: number;
  /** Reason why vectors of the palace cannot be adopted; empty if all can. */
  detail: string;
};

/** Runs adoptions, one at a time. `stop` ends the running adoption between two batches. */
export type Adopter = {
  run(
    collectionId: string,
    horizon: Horizon,
    onProgress: (progress: AdoptionProgress) => void,
    kind?: RowKind,
  ): Promise<number>;
  stop(): Promise<void>;
};

/** Number of texts to embed to find out which model made the palace's vectors. */
const SAMPLES = 24;
const LOG_EVERY_MS = 5_000;

export function createAdopter(options: AdopterOptions): Adopter {
  const { palaceDir, ledgerFile, file, onFiled, setRecipe, modelOf, log } = options;
  let thread: Thread<ReadMethods> | undefined;
  let stopped = false;

  /** Adopts the rows of one collection. Rows filed before an error stay filed. */
  const run: Adopter["run"] = async (collectionId, horizon, onProgress, kind = "drawers") => {
    const data: ReadThreadData = { ledgerFile, palaceDir, collectionId, horizon, kind };
    const reader = await startThread<ReadMethods>(threadFile(import.meta.url, "read-thread"), data);
    thread = reader;
    try {
      const { total, torn, recipe } = await reader.call("opened");
      if (recipe !== null) await setRecipe(recipe);
      const { model, width, why } = await modelOf(await reader.call("sample", SAMPLES));
      const detail = torn === null ? why : `its index cannot be read (${torn}), its texts are embedded again`;
      const progress = { read: 0, total, taken: 0, detail };
      if (detail !== "") log.warn("not all vectors of the palace can be adopted", { detail });
      let loggedAtMs = performance.now();
      log.info("adopting the palace's rows", { kind, rows: total, vectors: model ?? "computed again" });
      for (let done = false; !done && !stopped;) {
        const batch = await reader.call("next");
        done = batch.done;
        progress.read += batch.read;
        faultPoint("take-over.before-batch");
        if (batch.rows.length + batch.removed.length > 0) {
          const rows = batch.rows.map((row) => (row.vector?.length === width ? row : { ...row, vector: undefined }));
          const { taken, changes } = await file({ rows, removed: batch.removed, model }, kind);
          progress.taken += taken;
          await onFiled(changes);
        }
        onProgress({ ...progress });
        if (performance.now() - loggedAtMs < LOG_EVERY_MS) continue;
        loggedAtMs = performance.now();
        log.info("adopting the palace's rows", progress);
      }
      return progress.taken;
    } finally {
      thread = undefined;
      await reader.close();
    }
  };

  return {
    run,
    async stop() {
      stopped = true;
      await thread?.close();
    },
  };
}
