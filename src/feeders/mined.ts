/**
 * Tells which files MemPalace has mined, and in which state. A palace that MemPalace made is adopted with its drawers, and files that it
 * counts as filed are not filed again. Used by doc-miner and convo-miner for files in place.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { localTimestamp } from "../memory/text/text.ts";
import type { MinedSource } from "../protocol/filing.ts";
import type { Caller } from "./send.ts";

/** True when the file, with its present time (s), is filed as MemPalace left it. */
export type IsMined = (file: { sourceFile: string; mtime: number }) => boolean;

/** Upstream's tolerance for "the same time", s (palace.md 5.2, skip rule). */
export const MTIME_TOLERANCE_S = 0.001;
const POLL_MS = 100;
/** Longest wait for a broker to find its palace, ms: a Chroma server may be unavailable. */
const LOOK_MAX_MS = 10_000;

/** Waits until the broker has adopted its palace, because only then the mined sources are known. Errors: the broker's. */
export async function whenAdopted(caller: Caller, signal: AbortSignal, notice: (line: string) => void): Promise<void> {
  const givenUpAtMs = performance.now() + LOOK_MAX_MS;
  for (let isTold = false; !signal.aborted; await sleep(POLL_MS)) {
    const { error, adoption, strays } = await caller.call("palace.status", {});
    // A broker from before adoption reports none.
    const state = adoption?.state ?? "none";
    const isAdopting = state === "running" || (state === "verifying" && strays.state === "looking");
    const isLooking = state === "none" && strays.state === "looking" && performance.now() < givenUpAtMs;
    if (error !== undefined || !(isAdopting || isLooking)) return;
    if (state === "running" && !isTold) notice("Waiting until the palace that was there is adopted.");
    isTold ||= state === "running";
  }
}

/** Returns a test for mined files. `mined` is undefined if the broker is of an older version or was not asked. */
export function minedFinder(mined: readonly MinedSource[] | undefined): IsMined {
  const byFile = Map.groupBy(mined ?? [], ({ sourceFile }) => sourceFile);
  return ({ sourceFile, mtime }) => byFile.get(sourceFile)?.some((one) => isSameState(one, mtime)) === true;
}

/**
 * Returns true if the file is unchanged since it was mined. 3.3.6 stores no time for a transcript; such a file is compared with its filing
 * time.
 */
function isSameState(mined: MinedSource, mtime: number): boolean {
  if (mined.mtime !== null) return Math.abs(mined.mtime - mtime) < MTIME_TOLERANCE_S;
  return localTimestamp(mtime * 1_000_000) < mined.filedAt;
}
