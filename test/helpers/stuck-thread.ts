/** Thread that reads a file and does nothing else meanwhile. A pipe without a writer stops it, as a stuck mount does. */
import { readFileSync } from "node:fs";
import { type Progress, STARTING } from "../../src/base/job-progress.ts";
import { serveThread } from "../../src/base/thread.ts";

export type StuckMethods = { read: (file: string) => { text: string }; progress: () => Progress; cancel: () => void };

await serveThread<StuckMethods>(() => ({
  read: (file) => ({ text: readFileSync(file, "utf8") }),
  progress: () => STARTING,
  cancel: () => {},
}));
