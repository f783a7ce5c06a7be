/** Types of a mining run, and the loop that files changed sources, a few at a time. */
import { setImmediate as turn } from "node:timers/promises";
import { type Caller, isRefusal } from "./send.ts";

export type FeedWatch = {
  notice(line: string): void;
  /** Called after each source with its number of drawers, or undefined if the source was not sent. */
  progress(done: number, total: number, name: string, drawers: number | undefined): void;
};

/** Skipped file. `outcome`: upstream's code for the reason, if there is one. */
export type Skip = { file: string; reason: string; outcome?: string };

export type RunReport = {
  filed: number;
  unchanged: number;
  skipped: Skip[];
  /** Number of drawers written by this run. */
  drawers: number;
  dryRun: boolean;
  interrupted: boolean;
  /** Number of sources that should have been filed but were not. */
  failed: number;
  /** Sources that a real run would file. Only a dry run sets it. */
  wouldFile?: string[];
};

export type FeedDeps = {
  /** Undefined in a dry run if no broker runs, because a dry run does not start one. */
  caller: Caller | undefined;
  watch: FeedWatch;
  /** After an abort, sources in flight are finished, and no others are begun. */
  signal: AbortSignal;
};

type Filing = Omit<FeedDeps, "caller"> & { report: Pick<RunReport, "interrupted"> & { filed?: number } };

type FileEach<File> = {
  /** Maximum number of sources to file; 0 for all. */
  limit: number;
  /** Maximum number of sources in flight. A small number leaves the broker time for other agents' writes. */
  inFlightMax: number;
  nameOf: (file: File) => string;
  /** Files a source and returns its number of drawers; undefined if it was not sent. */
  file: (file: File) => Promise<number | undefined>;
};

/** Files the sources. After an error it begins no others and finishes those in flight. Errors: the first error of `file`. */
export async function fileEach<File>(
  { report, watch, signal }: Filing,
  files: readonly File[],
  { limit, inFlightMax, nameOf, file }: FileEach<File>,
): Promise<void> {
  let next = 0;
  let done = 0;
  let failed = false;
  const isEnough = (): boolean => limit > 0 && (report.filed ?? 0) >= limit;
  const work = async (): Promise<void> => {
    while (!signal.aborted && !failed && !isEnough()) {
      const found = files[next++];
      if (found === undefined) return;
      try {
        const drawers = await file(found);
        watch.progress(++done, files.length, nameOf(found), drawers);
        // Reading a file blocks the event loop. This lets the loop run, so that an abort signal can arrive.
        await turn();
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // With a limit, files one source after the other, to stop exactly at the limit.
  const workers = await Promise.allSettled(Array.from({ length: limit > 0 ? 1 : inFlightMax }, work));
  report.interrupted = signal.aborted && done < files.length;
  const broken = workers.find((worker) => worker.status === "rejected");
  if (broken !== undefined) throw broken.reason;
}

type Failures = Pick<RunReport, "skipped" | "failed">;

/** Counts a source that the broker refuses. Throws an error that is not about this source alone. */
export function countRefused(
  report: Failures,
  file: string,
  error: unknown,
  isAboutFile = isRefusal(error),
): undefined {
  if (!isAboutFile) throw error;
  report.skipped.push({ file, reason: `refused by the broker: ${(error as Error).message}` });
  report.failed += 1;
}

export function countUnread(report: Failures, file: string, error: unknown): undefined {
  const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
  report.skipped.push({ file, reason: isGone ? "vanished during the run" : "cannot be read" });
  if (!isGone) report.failed += 1;
}
