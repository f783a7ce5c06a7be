/**
 * Gives the drawers that wait for it their vectors, in the background: read a page of texts, embed, file, refresh the
 * index. One page is embedded while the one before is being filed, so the embedder never waits for the disk. A kill at any
 * point loses nothing: a text stays listed until its vector is committed.
 */
import type { Log } from "../../platform/log.ts";
import { within } from "../../platform/within.ts";
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

const PAGE = 64;
const RETRY_MS = 5_000;
/** Of the newest page in the mean time of a text. */
const NEWEST_PART = 0.25;

/** The texts that wait, and the loop that works on them. */
export class Backlog {
  readonly #options: BacklogOptions;
  readonly #running: Promise<void>;
  #stopped = false;
  #woken = Promise.withResolvers<void>();
  #asked = true;
  /** Who waits until nothing does. */
  #settled: (() => void)[] = [];
  /** How long a text takes, ms: the mean of the last pages; undefined before the first. */
  #textMs: number | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** How long `texts` of them will take, ms, as the last ones did; null before there were any. */
  expectedMs(texts: number): number | null {
    return this.#textMs === undefined ? null : Math.round(texts * this.#textMs);
  }

  /** There may be new texts. */
  wake(): void {
    this.#asked = true;
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }

  /** Resolves when nothing waited at some moment after the call, or after the time. */
  async settled(timeoutMs: number): Promise<void> {
    const done = new Promise<void>((resolve) => this.#settled.push(resolve));
    this.wake();
    await within(done, timeoutMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.wake();
    for (const done of this.#settled) done();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const waiters = this.#settled;
      this.#settled = [];
      this.#asked = false;
      try {
        while ((await this.#pass()) > 0);
        for (const done of waiters) done();
      } catch (error) {
        this.#settled.push(...waiters);
        if (this.#stopped) return;
        this.#options.log.error("embedding failed, will retry", { why: String(error), retryMs: RETRY_MS });
        await Promise.race([this.#woken.promise, new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())]);
      }
      if (!this.#asked && this.#settled.length === 0) await this.#woken.promise;
    }
  }

  /** All pages from the first row on; the last page's filing is awaited before the list is read anew. */
  async #pass(): Promise<number> {
    const { embedder, pending } = this.#options;
    let filing: Promise<void> = Promise.resolve();
    let afterRow = 0;
    let count = 0;
    for (;;) {
      const texts = this.#stopped ? [] : pending(afterRow, PAGE);
      const last = texts.at(-1);
      if (last === undefined) break;
      afterRow = last.row;
      count += texts.length;
      const startedAt = performance.now();
      const vectors = await embedder.embed(texts.map(({ text }) => text));
      this.#took(texts.length, performance.now() - startedAt);
      await filing;
      filing = this.#file(texts, vectors);
      // An error is met at the next await; until then it must not count as unhandled.
      filing.catch(() => {});
    }
    await filing;
    return count;
  }

  #took(texts: number, ms: number): void {
    const last = ms / texts;
    this.#textMs = this.#textMs === undefined ? last : this.#textMs + (last - this.#textMs) * NEWEST_PART;
  }

  async #file(texts: PendingText[], vectors: Float32Array[]): Promise<void> {
    const { embedder, file, onFiled } = this.#options;
    const named = texts.flatMap(({ row, textVersion }, index) => {
      const vector = vectors[index];
      return vector === undefined ? [] : [{ row, textVersion, vector }];
    });
    await onFiled(await file(named, embedder.identity.id));
  }
}
