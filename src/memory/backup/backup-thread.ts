/** Entry of the worker thread that makes one backup. The thread ends with the backup. */
import { workerData } from "node:worker_threads";
import { armFault } from "../../base/fault-point.ts";
import { type Progress, Steps } from "../../base/job-progress.ts";
import { serveThread } from "../../base/thread.ts";
import { makeBackup, type MakeInput, type MakeReport } from "./make.ts";

export type BackupThreadData = { fault: string | undefined };

export type BackupMethods = {
  make(input: MakeInput): Promise<MakeReport>;
  progress(): Progress;
  cancel(): void;
};

armFault((workerData as BackupThreadData).fault);

await serveThread<BackupMethods>(() => {
  const steps = new Steps();
  return {
    make: (input) => makeBackup(input, steps),
    progress: () => steps.progress,
    cancel: () => steps.cancel(),
  };
});
