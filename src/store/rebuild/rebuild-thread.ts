/** Thread on which a palace is exported, repaired or looked through; started for one such work and ended with it. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../platform/fault.ts";
import { serveThread } from "../thread.ts";
import { type ExportInput, exportPalace, type ExportReport } from "./export.ts";
import { type Progress, Steps } from "./steps.ts";

export type RebuildThreadData = { fault: string | undefined };

export type RebuildMethods = {
  exportPalace(input: ExportInput): Promise<ExportReport>;
  progress(): Progress;
  cancel(): void;
};

armFault((workerData as RebuildThreadData).fault);

await serveThread<RebuildMethods>(() => {
  const steps = new Steps();
  return {
    exportPalace: (input) => exportPalace(input, steps),
    progress: () => steps.progress,
    cancel: () => steps.cancel(),
  };
});
