/**
 * Who has a palace's files open, watched from now on: the ledger, and the public palace in the folder `palace` beside it. Sees
 * every process of the machine, those in containers included, and so needs root and an engine that runs here. Found are two
 * processes that have the ledger open at one time, and two that have the public palace open; this very process is left out, so that a
 * test may read. Who opens a file for less than the time between two looks (about 0.1 s) may be missed.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import type { Seen } from "./open-files-thread.ts";

export type OpenFiles = AsyncDisposable & {
  /** What was seen up to now. */
  seen(): Promise<Seen>;
  /** Nobody ever shared a file, and the watch is not blind: it saw the ledger in a broker's hands, and the palace. */
  expectOneAtATime(): Promise<void>;
};

/** Why there can be no watch here; undefined: there can. */
export const openFilesMissing =
  process.platform === "linux" && process.getuid?.() === 0
    ? undefined
    : "to see whose files are open needs Linux and root";

/** `server`: a Chroma server writes the palace; the broker, who has the ledger, may then read it. */
export function watchOpenFiles(home: string, { server = false } = {}): OpenFiles {
  const workerData = { home, server, leaveOut: process.pid };
  const worker = new Worker(new URL("./open-files-thread.ts", import.meta.url), { workerData });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  worker.on("error", failed.reject);
  const seen = async (): Promise<Seen> => {
    worker.postMessage("seen?");
    return (await Promise.race([once(worker, "message"), failed.promise]))[0] as Seen;
  };
  return {
    seen,
    expectOneAtATime: async () => {
      const { held, together } = await seen();
      expect(together, "open in two processes at one time").toEqual([]);
      expect(held.ledger, "looks that saw the ledger open").toBeGreaterThan(0);
      expect(held.palace, "looks that saw the public palace open").toBeGreaterThan(0);
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}
