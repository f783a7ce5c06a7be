/**
 * Delays calls while the broker adopts an existing palace: an agent that finds nothing would file everything again. After a limited time,
 * calls are answered with a notice that rows are missing.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { AdoptionReport } from "../../protocol/spec.ts";
import { chromaFile } from "../format/chroma-file.ts";
import { parseSeen } from "./last-look.ts";

/** Maximum time to wait, from the broker's start, ms. For comparison: a thousand drawers are adopted in less than a second. */
const WAIT_MAX_MS = 10_000;
const POLL_MS = 20;

export type AdoptionWait = {
  /** Resolves when the palace is adopted, cannot be adopted, or takes longer than the maximum. Never rejects. */
  settled(): Promise<void>;
  /** Returns the notice for an answer; undefined if the palace is adopted or did not exist. */
  detail(): string | undefined;
};

type Watched = { isSettled(): boolean; adoption(): AdoptionReport };

/** Starts the wait. `seen`: what the previous broker stored about the palace (last-look.ts). */
export function waitForAdoption(palaceDir: string, seen: string | undefined, watch: Watched): AdoptionWait {
  const isNew = parseSeen(seen)?.adoption?.state !== "verified" && existsSync(chromaFile(palaceDir));
  const until = performance.now() + WAIT_MAX_MS;
  const isUnderWay = (): boolean => isNew && !watch.isSettled();
  return {
    async settled() {
      while (isUnderWay() && watch.adoption().state !== "refused" && performance.now() < until) await sleep(POLL_MS);
    },
    detail() {
      if (!isUnderWay()) return undefined;
      const { state, read, rows, detail, hint } = watch.adoption();
      if (state === "refused") return `the palace in ${palaceDir} cannot be adopted: ${detail}; ${hint}`;
      const far = rows === 0 ? "" : `, ${read} of ${rows} rows so far`;
      return `the palace in ${palaceDir} is being adopted${far}; ask again in a moment for the rest`;
    },
  };
}
