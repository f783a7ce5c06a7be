/** Thread that exports, rebuilds or checks one palace and then ends. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import { type ExportInput, exportPalace } from "./export.ts";
import { lookThrough } from "./health.ts";
import { probePalace } from "./migrate.ts";
import { type RepairInput, repairPalace } from "./repair.ts";
import { Steps } from "../../base/job-progress.ts";

export type RebuildThreadData = { fault: string | undefined };

export type RebuildMethods = ReturnType<typeof openRebuild>;

armFault((workerData as RebuildThreadData).fault);

await serveThread(openRebuild);

function openRebuild() {
  const steps = new Steps();
  return {
    exportPalace: (input: ExportInput) => exportPalace(input, steps),
    repairPalace: (input: RepairInput) => repairPalace(input, steps),
    probePalace: (palaceDir: string) => probePalace(palaceDir) ?? null,
    lookThrough,
    progress: () => steps.progress,
    cancel: () => steps.cancel(),
  };
}
