/**
 * Gives memory back to the system when heavy work is over: SQLite keeps the pages it has read, and the C library what was
 * freed. Keeps V8's heap from growing far beyond what is in use. Started by palace.ts.
 */
import { setFlagsFromString } from "node:v8";
import type { Log } from "../../base/log.ts";

export type MemoryOptions = {
  /** Frees what can be read again. */
  release: () => Promise<void>;
  /** Processor time that this process has used so far, ms. */
  cpuMs: () => number;
  /** Resident memory of this process. */
  residentBytes: () => number;
  log: Log;
};

const TICK_MS = 5_000;
/** Processor time in one tick with which the broker counts as quiet. */
const QUIET_CPU_MS = 250;
/**
 * Processor time between two releases. A release and the reads that fill the caches again take some dozens of
 * milliseconds, which is less than 1 % of that.
 */
const HEAVY_CPU_MS = 10_000;
/** Growth of the resident memory since the last release that is worth one, too. */
const GROWN_BYTES = 96 * 1024 ** 2;

/**
 * How far V8's heap may grow between two collections, in percent of what is in use. Ten refused checkpoints of
 * 100,000 items took 430 MB with V8's own growth, and take 380 MB with this. Searches cost 3 % more processor time.
 */
const HEAP_GROWTH_PERCENT = 150;

/** Must be called once all modules are loaded: V8 rejects compiled code that was cached under other flags. */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}

/** Returns the function that ends it. */
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
    // A release that is still under way is not begun a second time.
    keptBytes = residentBytes();
    await release().catch((error: unknown) => log.warn("memory was not given back", { why: String(error) }));
    // The memory that is left is in use, so it does not count as growth.
    keptBytes = residentBytes();
  };
  const timer = setInterval(() => void tick(), TICK_MS).unref();
  return () => clearInterval(timer);
}
