/**
 * Runs searches that nobody asked for, when a broker has just started and is idle: the code of a search takes twice as
 * long until it has run some dozens of times, in four threads. Started by palace.ts.
 */
import type { Log } from "../../base/log.ts";

export type WarmUpOptions = {
  search: (query: string) => Promise<unknown>;
  /** Texts of the palace whose words are searched; with none there is nothing to warm up. */
  texts: () => string[];
  isBusy: () => boolean;
  log: Log;
};

/** Requests right after a start go first. */
const BEGIN_MS = 1_500;
const SEARCHES = 60;
/** Pause between two searches, and as many times as long as one took: concurrent searches are hardly delayed. */
const REST_MS = 20;
const REST_FACTOR = 2;
const BUSY_MS = 250;
/** Bound for a palace that is always busy; its own searches warm it up. */
const GIVE_UP_MS = 60_000;
const QUERY_WORDS = 9;

/** Returns the function that ends it; a running search is not awaited. */
export function startWarmUp({ search, texts, isBusy, log }: WarmUpOptions): () => void {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let queries: string[] | undefined;
  let stopped = false;
  const next = (afterMs: number): void => {
    if (!stopped) timer = setTimeout(() => void step(), afterMs).unref();
  };
  const step = async (): Promise<void> => {
    if (performance.now() - startedAt > GIVE_UP_MS) return;
    const begun = performance.now();
    try {
      if (isBusy()) return next(BUSY_MS);
      queries ??= queriesFrom(texts());
      const query = queries.pop();
      if (query === undefined) return;
      await search(query);
    } catch (error) {
      return void (stopped || log.debug("the search is not warmed up", { why: String(error) }));
    }
    next(REST_MS + REST_FACTOR * (performance.now() - begun));
  };
  next(BEGIN_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Takes some words from the middle of each text, repeatedly until there are enough. */
function queriesFrom(texts: readonly string[]): string[] {
  return Array.from({ length: texts.length === 0 ? 0 : SEARCHES }, (_, at) => {
    const words = (texts[at % texts.length] ?? "").split(/\s+/u);
    const start = Math.floor(words.length / 2) + Math.floor(at / texts.length) * QUERY_WORDS;
    return words.slice(start % words.length, (start % words.length) + QUERY_WORDS).join(" ");
  });
}
