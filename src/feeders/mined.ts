/** Finds the files that MemPalace itself has mined. The broker adopts their drawers, so our miners skip these files. */
import { setTimeout as sleep } from "node:timers/promises";
import { localTimestamp } from "../memory/text/text.ts";
import type { MinedSource } from "../protocol/filing.ts";
import type { Caller } from "./send.ts";

/** Returns true if MemPalace has filed this file and the file has the same time (`mtime`, s) as then. */
export type IsMined = (file: { sourceFile: string; mtime: number }) => boolean;

/** Difference up to which two file times count as equal, s, as in upstream (palace.md 5.2, skip rule). */
export const MTIME_TOLERANCE_S = 0.001;
const POLL_MS = 100;
/** Maximum time to wait until the broker has found the public palace, ms. A broker whose Chroma server is down does not find it. */
const LOOK_MAX_MS = 10_000;

/** Waits until the broker has adopted existing drawers and so knows the mined sources. Errors: the broker's. */
export async function whenAdopted(caller: Caller, signal: AbortSignal, notice: (line: string) => void): Promise<void> {
  const givenUpAtMs = performance.now() + LOOK_MAX_MS;
  for (let isTold = false; !signal.aborted; await sleep(POLL_MS)) {
    const { error, adoption, strays } = await caller.call("palace.status", {});
    // An older broker does not report `adoption`.
    const state = adoption?.state ?? "none";
    const isAdopting = state === "running" || (state === "verifying" && strays.state === "looking");
    const isLooking = state === "none" && strays.state === "looking" && performance.now() < givenUpAtMs;
    if (error !== undefined || !(isAdopting || isLooking)) return;
    if (state === "running" && !isTold) notice("Waiting until the broker has adopted the existing palace.");
    isTold ||= state === "running";
  }
}

/** Returns a test for mined files. `mined` is undefined if the broker is older or was not asked. */
export function minedFinder(mined: readonly MinedSource[] | undefined): IsMined {
  const byFile = Map.groupBy(mined ?? [], ({ sourceFile }) => sourceFile);
  return ({ sourceFile, mtime }) => byFile.get(sourceFile)?.some((one) => isSameState(one, mtime)) === true;
}

/** Returns true if the file has not changed since MemPalace mined it. Without a stored file time (3.3.6), the filing time counts. */
function isSameState(mined: MinedSource, mtime: number): boolean {
  if (mined.mtime !== null) return Math.abs(mined.mtime - mtime) < MTIME_TOLERANCE_S;
  return localTimestamp(mtime * 1_000_000) < mined.filedAt;
}
