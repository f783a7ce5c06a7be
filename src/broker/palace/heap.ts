/** Returns memory to the system after heavy work (SQLite and the C library keep freed memory), and limits the growth of V8's heap. */
import { setFlagsFromString } from "node:v8";
import type { Log } from "../../base/log.ts";

export type MemoryOptions = {
  /** Frees caches, whose content can be read again. */
  release: () => Promise<void>;
  /** Processor time that this process has used so far, ms. */
  cpuMs: () => number;
  residentBytes: () => number;
  log: Log;
};

const TICK_MS = 5_000;
/** The broker counts as quiet if it used at most this processor time in one tick. */
const QUIET_CPU_MS = 250;
/** Processor time after which memory is released again. A release, with the reads that refill the caches, takes less than 1 % of it. */
const HEAVY_CPU_MS = 10_000;
/** Growth of the resident memory after which memory is released earlier. */
const GROWN_BYTES = 96 * 1024 ** 2;

/**
 * Growth of V8's heap between two collections, in percent of its used size. With this value, ten refused calls of the tool `checkpoint`
 * with 100,000 items take 380 MB instead of 430 MB, and searches need 3 % more processor time.
 */
const HEAP_GROWTH_PERCENT = 150;

/** Limits the heap's growth. Call it after all modules are loaded: V8 rejects compiled code that was cached under other flags. */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}

export function startMemoryRelease({ release, cpuMs, residentBytes, log }: MemoryOptions): () => void {
  let releasedAtMs = cpuMs();
  let lastMs = releasedAtMs;
  let keptBytes = residentBytes();
  const tick = async (): Promise<void> => {
    const nowMs = cpuMs();
    const isQuiet = nowMs - lastMs < QUIET_CPU_MS;
    lastMs = nowMs;
    const isGrown = residentBytes() - keptBytes >= GROWN_BYTES;
    if (!isQuiet || !(isGrown || nowMs - releasedAtMs >= HEAVY_CPU_MS)) return;
    releasedAtMs = nowMs;
    // Also set before the release, so that a tick during the release does not start a second one.
    keptBytes = residentBytes();
    await release().catch((error: unknown) => log.warn("memory was not released", { why: String(error) }));
    // The memory that remains is in use, so it does not count as growth.
    keptBytes = residentBytes();
  };
  const timer = setInterval(() => void tick(), TICK_MS).unref();
  return () => clearInterval(timer);
}
