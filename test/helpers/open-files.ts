/**
 * Reports two processes that have the ledger, or the public palace beside it, open at the same time. Sees all processes of the machine,
 * including containers, except this one, Docker's and ssh's. May miss a file that is open for less than 0.1 s (0.5 s on a busy machine).
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import type { Seen } from "./open-files-thread.ts";

export type OpenFiles = AsyncDisposable & {
  seen(): Promise<Seen>;
  /** Asserts that no two processes shared a file, and that the watch saw each of the ledger and the public palace open at least once. */
  expectOneAtATime(): Promise<void>;
};

/** Reason why a watch is impossible here, or undefined. */
export const openFilesMissing =
  process.platform === "linux" && process.getuid?.() === 0
    ? undefined
    : "to see whose files are open needs Linux and root";

/** Watches the palace in `home`. `server`: a Chroma server writes the public palace, and the broker may read it. */
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
