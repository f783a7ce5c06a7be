/** Thread that only reads a file. A pipe without a writer blocks it, as a stuck mount would. */
import { readFileSync } from "node:fs";
import { type Progress, STARTING } from "../../src/base/job-progress.ts";
import { serveThread } from "../../src/base/thread.ts";

export type StuckMethods = { read: (file: string) => { text: string }; progress: () => Progress; cancel: () => void };

await serveThread<StuckMethods>(() => ({
  read: (file) => ({ text: readFileSync(file, "utf8") }),
  progress: () => STARTING,
  cancel: () => {},
}));
