/** Computes missing vectors of drawers in the background. A text stays listed until its vector is committed, so a kill loses none. */
import type { Log } from "../../../base/log.ts";
import { within } from "../../../base/time-limit.ts";
import type { Changes, NewVector, PendingText } from "../../port/ledger.ts";
import type { Embedder } from "../../port/search.ts";

export type BacklogOptions = {
  embedder: Embedder;
  /** Returns the texts without a vector above `afterRow`, in row order. */
  pending: (afterRow: number, limit: number) => PendingText[];
  /** Returns notes without a vector among the newest texts, newest first. */
  notes?: (limit: number) => PendingText[];
  file: (vectors: NewVector[], model: string) => Promise<Changes>;
  onFiled: (changes: Changes) => Promise<void>;
  log: Log;
};

const PAGE = 64;
/** Maximum number of notes embedded at once. A small page takes little time, so the other texts hardly wait. */
const NOTES_PAGE = 16;
const RETRY_MS = 5_000;
/** Weight of the newest page in the moving average of the time per text. */
const NEWEST_PART = 0.25;

export class Backlog {
  readonly #options: BacklogOptions;
  readonly #running: Promise<void>;
  #stopped = false;
  #woken = Promise.withResolvers<void>();
  #asked = true;
  /** Callers that wait until no text is left. */
  #waiters: (() => void)[] = [];
  /** Moving average of the time to embed one text, ms; undefined before the first page. */
  #textMs: number | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Returns the expected time to embed `texts` texts, ms; null before the first page. */
  expectedMs(texts: number): number | null {
    return this.#textMs === undefined ? null : Math.round(texts * this.#textMs);
  }

  /** Tells the loop that there may be new texts. */
  wake(): void {
    this.#asked = true;
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }

  /** Resolves as soon as no text is waiting, or after the timeout. */
  async settled(timeoutMs: number): Promise<void> {
    const done = new Promise<void>((resolve) => this.#waiters.push(resolve));
    this.wake();
    await within(done, timeoutMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.wake();
    for (const done of this.#waiters) done();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const waiters = this.#waiters;
      this.#waiters = [];
      this.#asked = false;
      try {
        while ((await this.#pass()) > 0);
        for (const done of waiters) done();
      } catch (error) {
        this.#waiters.push(...waiters);
        if (this.#stopped) return;
        this.#options.log.error("embedding failed, will retry", { why: String(error), retryMs: RETRY_MS });
        await Promise.race([this.#woken.promise, new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())]);
      }
      if (!this.#asked && this.#waiters.length === 0) await this.#woken.promise;
    }
  }

  /** Embeds all pages from the first row on, and new notes before each full page. It embeds a page while it files the previous one. */
  async #pass(): Promise<number> {
    const { embedder, pending, notes = () => [] } = this.#options;
    let filing: Promise<void> = Promise.resolve();
    let afterRow = 0;
    let count = 0;
    /** Rows of notes embedded in this pass. They may still be listed, because the last vectors are still being filed. */
    const noted = new Set<number>();
    const isNew = ({ row }: PendingText): boolean => !noted.has(row);
    const next = (): PendingText[] => {
      for (let page = pending(afterRow, PAGE); page.length > 0 && !this.#stopped; page = pending(afterRow, PAGE)) {
        // Embeds no notes before the last page, so that the public palace gets these texts in the order of writing.
        const newest =
          page.length < PAGE
            ? []
            : notes(2 * NOTES_PAGE)
                .filter(isNew)
                .slice(0, NOTES_PAGE)
                .toReversed();
        for (const { row } of newest) noted.add(row);
        if (newest.length > 0) return newest;
        afterRow = page.at(-1)?.row ?? afterRow;
        const texts = page.filter(isNew);
        if (texts.length > 0) return texts;
      }
      return [];
    };
    for (let texts = next(); texts.length > 0; texts = next()) {
      count += texts.length;
      const startedAt = performance.now();
      const vectors = await embedder.embed(texts.map(({ text }) => text));
      this.#took(texts.length, performance.now() - startedAt);
      await filing;
      filing = this.#file(texts, vectors);
      // A later `await` handles the error. Without this handler Node would report an unhandled rejection before.
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
