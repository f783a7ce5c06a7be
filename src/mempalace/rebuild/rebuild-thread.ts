/** Thread on which a palace is exported, rebuilt or verified; it runs for one job. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import type { PalaceHealthReport } from "../../protocol/spec.ts";
import { type ExportInput, exportPalace, type ExportReport } from "./export.ts";
import { type HealthInput, lookThrough } from "./health.ts";
import { probePalace } from "./migrate.ts";
import { type RepairInput, repairPalace, type RepairReport } from "./repair.ts";
import { type Progress, Steps } from "../../base/job-progress.ts";

export type RebuildThreadData = { fault: string | undefined };

export type RebuildMethods = {
  exportPalace(input: ExportInput): Promise<ExportReport>;
  repairPalace(input: RepairInput): Promise<RepairReport>;
  /** Returns why the palace is not usable as it is; null if it is usable. */
  probePalace(palaceDir: string): string | null;
  lookThrough(input: HealthInput): PalaceHealthReport;
  progress(): Progress;
  cancel(): void;
};

armFault((workerData as RebuildThreadData).fault);

await serveThread<RebuildMethods>(() => {
  const steps = new Steps();
  return {
    exportPalace: (input) => exportPalace(input, steps),
    repairPalace: (input) => repairPalace(input, steps),
    probePalace: (palaceDir) => probePalace(palaceDir) ?? null,
    lookThrough,
    progress: () => steps.progress,
    cancel: () => steps.cancel(),
  };
});
