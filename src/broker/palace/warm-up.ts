/**
 * Searches that nobody asked for, when a broker has just begun and has nothing else to do: the code of a search takes twice as long
 * until it has run some dozens of times, in four threads. Started by palace.ts.
 */
import type { Log } from "../../platform/log.ts";

export type WarmUpOptions = {
  search: (query: string) => Promise<unknown>;
  /** Texts of the palace, to ask for their words; none: there is nothing to be quick for. */
  texts: () => string[];
  isBusy: () => boolean;
  log: Log;
};

/** What asks right after a start comes first. */
const BEGIN_MS = 1_500;
const SEARCHES = 60;
/** Between two of them, and as many times as long as one took: who searches meanwhile hardly notices. */
const REST_MS = 20;
const REST_FACTOR = 2;
const BUSY_MS = 250;
/** Of a palace that is always busy; its own searches make it quick. */
const GIVE_UP_MS = 60_000;
const QUERY_WORDS = 9;

/** Returns what ends it; a search under way is not waited for. */
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

/** Of each text some words from its middle, over again until there are enough. */
function queriesFrom(texts: readonly string[]): string[] {
  return Array.from({ length: texts.length === 0 ? 0 : SEARCHES }, (_, at) => {
    const words = (texts[at % texts.length] ?? "").split(/\s+/u);
    const start = Math.floor(words.length / 2) + Math.floor(at / texts.length) * QUERY_WORDS;
    return words.slice(start % words.length, (start % words.length) + QUERY_WORDS).join(" ");
  });
}
