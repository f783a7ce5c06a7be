/**
 * The part of a run that all miners share: its report, and the loop that files the changed sources, a few at a time. Used by the
 * miners in the folders beside this file and by the command line.
 */
import { setImmediate as turn } from "node:timers/promises";
import { type Caller, isRefusal } from "./send.ts";

export type FeedWatch = {
  notice(line: string): void;
  /** `drawers`: number of drawers from the source; undefined if it was not sent. */
  progress(done: number, total: number, name: string, drawers: number | undefined): void;
};

/** `outcome` is the name of the reason, if it has one. */
export type Skip = { file: string; reason: string; outcome?: string };

export type RunReport = {
  filed: number;
  unchanged: number;
  skipped: Skip[];
  /** Drawers written by this run. */
  drawers: number;
  dryRun: boolean;
  interrupted: boolean;
  /** Sources that should have been filed and were not. */
  failed: number;
  /** Set by a dry run: what would be filed. */
  wouldFile?: string[];
};

export type FeedDeps = {
  /** Undefined in a dry run that found no broker: a dry run starts none. */
  caller: Caller | undefined;
  watch: FeedWatch;
  /** Aborted: the sources in flight are finished, no others begun. */
  signal: AbortSignal;
};

type Filing = Omit<FeedDeps, "caller"> & { report: Pick<RunReport, "interrupted"> & { filed?: number } };

type FileEach<File> = {
  /** Most sources filed; 0 = all. */
  limit: number;
  /** Most sources in flight. A small number lets other agents' writes run in between. */
  inFlightMax: number;
  nameOf: (file: File) => string;
  /** Returns the number of drawers; undefined if it was not sent. */
  file: (file: File) => Promise<number | undefined>;
};

/** Errors: the first of `file`. No other file is begun after it; those in flight are finished. */
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
        // Reading a file blocks the event loop. This turn lets a signal arrive.
        await turn();
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // With a limit, sources are filed one after the other, so that they can be counted.
  const workers = await Promise.allSettled(Array.from({ length: limit > 0 ? 1 : inFlightMax }, work));
  report.interrupted = signal.aborted && done < files.length;
  const broken = workers.find((worker) => worker.status === "rejected");
  if (broken !== undefined) throw broken.reason;
}

type Failures = Pick<RunReport, "skipped" | "failed">;

/** Counts a source that the broker refuses; the others may still be filed. Errors: the given one, if it is about more. */
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

/** Counts a source that could not be read. */
export function countUnread(report: Failures, file: string, error: unknown): undefined {
  const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
  report.skipped.push({ file, reason: isGone ? "vanished while we looked" : "cannot be read" });
  if (!isGone) report.failed += 1;
}
