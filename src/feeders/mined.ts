/** Finds the files that MemPalace has mined. The broker adopts their drawers, so the miners do not file them again. */
import { setTimeout as sleep } from "node:timers/promises";
import { localTimestamp } from "../memory/text/text.ts";
import type { MinedSource } from "../protocol/filing.ts";
import type { Caller } from "./send.ts";

/** Returns true if MemPalace has filed this file and the file's time (`mtime`, s) is still the same. */
export type IsMined = (file: { sourceFile: string; mtime: number }) => boolean;

/** Upstream's tolerance for "the same time", s (palace.md 5.2, skip rule). */
export const MTIME_TOLERANCE_S = 0.001;
const POLL_MS = 100;
/** Maximum time to wait until the broker has found its palace, ms. A Chroma server may be unavailable. */
const LOOK_MAX_MS = 10_000;

/** Waits until the broker has adopted the rows of its palace and so knows the mined sources. Errors: the broker's. */
export async function whenAdopted(caller: Caller, signal: AbortSignal, notice: (line: string) => void): Promise<void> {
  const givenUpAtMs = performance.now() + LOOK_MAX_MS;
  for (let isTold = false; !signal.aborted; await sleep(POLL_MS)) {
    const { error, adoption, strays } = await caller.call("palace.status", {});
    // A broker of an old version reports no adoption.
    const state = adoption?.state ?? "none";
    const isAdopting = state === "running" || (state === "verifying" && strays.state === "looking");
    const isLooking = state === "none" && strays.state === "looking" && performance.now() < givenUpAtMs;
    if (error !== undefined || !(isAdopting || isLooking)) return;
    if (state === "running" && !isTold) notice("Waiting until the broker has adopted the existing palace.");
    isTold ||= state === "running";
  }
}

/** Returns a test for mined files. `mined` is undefined if the broker is of an older version or was not asked. */
export function minedFinder(mined: readonly MinedSource[] | undefined): IsMined {
  const byFile = Map.groupBy(mined ?? [], ({ sourceFile }) => sourceFile);
  return ({ sourceFile, mtime }) => byFile.get(sourceFile)?.some((one) => isSameState(one, mtime)) === true;
}

/** Returns true if the file is as mined. 3.3.6 stores no file time for a transcript, so the filing time is compared. */
function isSameState(mined: MinedSource, mtime: number): boolean {
  if (mined.mtime !== null) return Math.abs(mined.mtime - mtime) < MTIME_TOLERANCE_S;
  return localTimestamp(mtime * 1_000_000) < mined.filedAt;
}
