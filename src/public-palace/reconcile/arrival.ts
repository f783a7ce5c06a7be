/**
 * A palace of before that this memory has just been pointed at: until its rows are taken over, an agent would be told that nothing
 * is there, and would file it again. Calls wait for it for a while; later ones are answered with what is here and a word about the
 * rest. Imported by broker/palace/palace.ts.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { AdoptionReport } from "../../protocol/spec.ts";
import { chromaFile } from "../format/chroma-file.ts";
import { parseSeen } from "./seen.ts";

/** From the broker's start. A thousand drawers are taken over in less than a second. */
const WAIT_MAX_MS = 10_000;
const POLL_MS = 20;

export type Arrival = {
  /** Resolves when it is here, when it cannot be taken over, or when that takes too long. Never rejects. */
  settled(): Promise<void>;
  /** What to say of it in an answer; undefined: it is here, or there was none. */
  detail(): string | undefined;
};

type Watched = { isSettled(): boolean; adoption(): AdoptionReport };

/** `seen`: what the broker before this one knew of the palace. */
export function startArrival(palaceDir: string, seen: string | undefined, watch: Watched): Arrival {
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
      if (state === "refused") return `the palace in ${palaceDir} cannot be taken over: ${detail}; ${hint}`;
      const far = rows === 0 ? "" : `, ${read} of ${rows} rows so far`;
      return `the palace in ${palaceDir} is being taken over${far}; ask again in a moment for the rest`;
    },
  };
}
