/** Searches while a new broker is idle: a search takes twice as long until each thread has run its code some dozens of times. */
import type { Log } from "../../base/log.ts";

export type WarmUpOptions = {
  search: (query: string) => Promise<unknown>;
  /** Returns texts of the palace. Their words are searched; without texts the warm-up does nothing. */
  texts: () => string[];
  isBusy: () => boolean;
  log: Log;
};

/** Pause after the start, so that the first requests come first. */
const BEGIN_MS = 1_500;
const SEARCHES = 60;
/** The pause after a search is REST_MS plus REST_FACTOR times the search's own time, so that other searches are hardly delayed. */
const REST_MS = 20;
const REST_FACTOR = 2;
const BUSY_MS = 250;
/** Time after which the warm-up gives up: the searches of users have warmed the palace by then. */
const GIVE_UP_MS = 60_000;
const QUERY_WORDS = 9;

/** Starts the warm-up and returns a function that ends it without waiting for a running search. */
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

/** Makes queries of some words from the middle of each text, repeating the texts until there are enough. */
function queriesFrom(texts: readonly string[]): string[] {
  return Array.from({ length: texts.length === 0 ? 0 : SEARCHES }, (_, at) => {
    const words = (texts[at % texts.length] ?? "").split(/\s+/u);
    const start = Math.floor(words.length / 2) + Math.floor(at / texts.length) * QUERY_WORDS;
    return words.slice(start % words.length, (start % words.length) + QUERY_WORDS).join(" ");
  });
}
