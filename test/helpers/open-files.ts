/**
 * Watches which processes have a palace's files open: the ledger, and the public palace in the folder `palace` beside it. It sees every
 * process of the machine, also in containers, except the programs of Docker and ssh, so it needs root and a local Docker. It reports two
 * processes that have the ledger, or the public palace, open at the same time. This process does not count, so a test may read. The watch
 * may miss a file that is open for less than the time between two looks (0.1 s, or 0.5 s on a busy machine).
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import type { Seen } from "./open-files-thread.ts";

export type OpenFiles = AsyncDisposable & {
  /** Returns the findings so far. */
  seen(): Promise<Seen>;
  /**
   * Asserts that no two processes shared a file, and that the watch works: it saw a broker with the ledger open, and a process with the
   * public palace open.
   */
  expectOneAtATime(): Promise<void>;
};

/** Returns why a watch is impossible here, or undefined if it is possible. */
export const openFilesMissing =
  process.platform === "linux" && process.getuid?.() === 0
    ? undefined
    : "to see whose files are open needs Linux and root";

/** Watches the palace in `home`. With `server` a Chroma server writes the public palace, and the broker may read it. */
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
