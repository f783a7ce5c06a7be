/**
 * Gives the drawers that wait for it their vectors, in the background: read a page of texts, embed, file, refresh the
 * index. One page is embedded while the one before is being filed, so the embedder never waits for the disk. A kill at any
 * point loses nothing: a text stays listed until its vector is committed.
 */
import type { Log } from "../../platform/log.ts";
import type { Changes, NewVector, PendingText } from "../../port/ledger.ts";
import type { Embedder } from "../../port/search.ts";

export type BacklogOptions = {
  embedder: Embedder;
  /** Texts without a vector whose row is above the given one, in row order. */
  pending: (afterRow: number, limit: number) => PendingText[];
  /** Commits the vectors. */
  file: (vectors: NewVector[], model: string) => Promise<Changes>;
  onFiled: (changes: Changes) => Promise<void>;
  log: Log;
};

export type Backlog = {
  /** There may be new texts. */
  wake(): void;
  /** Resolves when nothing waited at some moment after the call, or after the time. */
  settled(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
};

const PAGE = 64;
const RETRY_MS = 5_000;

export function startBacklog({ embedder, pending, file, onFiled, log }: BacklogOptions): Backlog {
  let stopped = false;
  let woken = Promise.withResolvers<void>();
  let asked = true;
  let settled: (() => void)[] = [];

  const fileAll = async (texts: PendingText[], vectors: Float32Array[]): Promise<void> => {
    const named = texts.flatMap(({ row, textVersion }, index) => {
      const vector = vectors[index];
      return vector === undefined ? [] : [{ row, textVersion, vector }];
    });
    await onFiled(await file(named, embedder.identity.id));
  };

  /** All pages from the first row on; the last page's filing is awaited before the list is read anew. */
  const pass = async (): Promise<number> => {
    let filing: Promise<void> = Promise.resolve();
    let afterRow = 0;
    let count = 0;
    for (;;) {
      const texts = stopped ? [] : pending(afterRow, PAGE);
      const last = texts.at(-1);
      if (last === undefined) break;
      afterRow = last.row;
      count += texts.length;
      const vectors = await embedder.embed(texts.map(({ text }) => text));
      await filing;
      filing = fileAll(texts, vectors);
      // An error is met at the next await; until then it must not count as unhandled.
      filing.catch(() => {});
    }
    await filing;
    return count;
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      const waiters = settled;
      settled = [];
      asked = false;
      try {
        while ((await pass()) > 0);
        for (const done of waiters) done();
      } catch (error) {
        settled.push(...waiters);
        if (stopped) return;
        log.error("embedding failed, will retry", { why: String(error), retryMs: RETRY_MS });
        await Promise.race([woken.promise, new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())]);
      }
      if (!asked && settled.length === 0) await woken.promise;
    }
  };
  const running = run();

  return {
    wake() {
      asked = true;
      woken.resolve();
      woken = Promise.withResolvers();
    },
    async settled(timeoutMs) {
      const done = new Promise<void>((resolve) => settled.push(resolve));
      this.wake();
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([done, new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)))]);
      clearTimeout(timer);
    },
    async stop() {
      stopped = true;
      this.wake();
      for (const done of settled) done();
      await running;
    },
  };
}
