/**
 * Finds writers that no lock of ours reaches: a MemPalace of another HOME, or one that sees the palace at another path. The
 * palace numbers every write of everybody. While the number grows by what our driver sent, nobody else was there; when it does
 * not add up, at the start or while running, a thread compares palace and ledger, and what it found is in the status.
 *
 * The ledger is the truth: drawers of ours that are missing over there are listed in the outbox again. Rows of others are
 * counted and left alone; taking them over belongs here too, where `compare.ts` meets them. Imported by broker/palace.ts.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../platform/log.ts";
import type { StrayReport } from "../../protocol/spec.ts";
import { startThread, type Thread, threadFile } from "../thread.ts";
import { chromaFile, readChroma, readCollections, readHead } from "./chroma-file.ts";
import type { Comparison } from "./compare.ts";
import type { CompareMethods, CompareThreadData } from "./compare-thread.ts";
import type { CountedDriver, SentCounts } from "./counted-driver.ts";

export type WatchOptions = {
  palaceDir: string;
  ledgerFile: string;
  /** Undefined: nothing in the palace is ours. */
  driver: CountedDriver | undefined;
  /** What the last broker had seen, so that a palace nobody touched since is not read again. */
  seen: { read(): string | undefined; write(text: string): Promise<void> };
  /** Lists drawers in the outbox again. */
  resend: (ids: readonly string[] | "all") => Promise<void>;
  /** Who may have written what is not ours; `recent`: some of it while this broker ran. */
  guess: (recent: boolean) => string;
  log: Log;
  /** Clock that is never stepped, ms; tests bring their own. */
  now?: () => number;
};

export type Watch = {
  status(): StrayReport;
  /** Does what is due now; for tests, which do not wait for the clock. */
  look(): Promise<void>;
  stop(): Promise<void>;
};

const LOOK_MS = 2_000;
/** Between two comparisons; a large palace has longer pauses, so that it costs a tenth of one thread at most. */
const GAP_MIN_MS = 5_000;
const GAP_FACTOR = 9;
/** Comparisons after something was sent again. */
const AGAIN = 2;
/** The main thread waits no longer than that for a commit of another process. */
const BUSY_TIMEOUT_MS = 20;

const NOTHING: Omit<StrayReport, "state" | "detail"> = {
  ...{ rows: 0, collections: [], newestAtMs: null, changed: 0, resent: 0, unindexed: 0 },
};

/** Where palace and driver stood at one quiet moment. */
type Mark = Readonly<{ head: number; segment: number; sent: SentCounts }>;
/** What is kept in the ledger between brokers. */
type Seen = { ours: string; head: number; segment: number; unindexed: number; report: StrayReport };

export function startWatch(options: WatchOptions): Watch {
  const watch = new Watcher({ now: () => performance.now(), ...options });
  const timer = setInterval(() => void watch.look(), LOOK_MS).unref();
  if (options.driver !== undefined) options.driver.onQuiet = () => watch.lookSoon();
  return {
    status: () => watch.report,
    look: () => watch.look(),
    stop: async () => {
      clearInterval(timer);
      await watch.stop();
    },
  };
}

class Watcher {
  readonly #options: Required<WatchOptions>;
  report: StrayReport = { ...NOTHING, state: "looking", detail: "" };
  #mark: Mark | undefined;
  /** The palace's number when this broker first looked. */
  #startHead: number | undefined;
  #comparing: Promise<void> | undefined;
  #thread: Thread<CompareMethods> | undefined;
  #nextAtMs = 0;
  #lookedAtMs = 0;
  #stopped = false;
  /** Rows without a vector that sending everything again has not helped. */
  #hopeless = 0;
  /** Comparisons still wanted although the numbers add up: what was sent again should be there by then. */
  #again = 0;

  constructor(options: Required<WatchOptions>) {
    this.#options = options;
  }

  /** A busy driver is quiet for a moment only, which the timer would miss. */
  lookSoon(): void {
    if (this.#options.now() - this.#lookedAtMs >= LOOK_MS) void this.look();
  }

  async look(): Promise<void> {
    if (this.#stopped) return;
    if (this.#comparing !== undefined) return this.#comparing;
    this.#lookedAtMs = this.#options.now();
    const found = this.#read();
    if (found === undefined || this.#addsUp(found) || this.#options.now() < this.#nextAtMs) return;
    this.#comparing = this.#compare(found);
    await this.#comparing;
    this.#comparing = undefined;
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#thread?.close();
    await this.#comparing;
    const found = this.#read();
    if (found !== undefined && this.#addsUp(found)) await this.#remember(found);
  }

  /** Undefined: nothing to judge now. The report says why, unless a moment later will do. */
  #read(): Mark | undefined {
    const { palaceDir, driver } = this.#options;
    if (driver?.sent.busy === true) return undefined;
    try {
      const found = readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => ({
        head: readHead(palace),
        collections: readCollections(palace),
      }));
      if (found === undefined) return this.#rest("off", `${palaceDir} holds no palace`);
      // Not open yet.
      if (driver !== undefined && driver.collectionId === undefined) return undefined;
      const own = found.collections.find(({ id }) => id === driver?.collectionId);
      if (driver !== undefined && own === undefined)
        return this.#rest("off", `the driver's palace is not the one in ${palaceDir}`);
      const folder = own === undefined ? undefined : join(palaceDir, own.vectorSegment);
      const segment = folder === undefined ? 0 : (statSync(folder, { throwIfNoEntry: false })?.ino ?? 0);
      return { head: found.head, segment, sent: { ...(driver?.sent ?? IDLE) } };
    } catch (error) {
      // Somebody commits: they are done when we look again.
      if (String((error as { code?: unknown }).code).startsWith("SQLITE_BUSY")) return undefined;
      return this.#rest("unreadable", `${chromaFile(palaceDir)}: ${(error as Error).message}`);
    }
  }

  #rest(state: "off" | "unreadable", detail: string): undefined {
    this.report = { ...NOTHING, resent: this.report.resent, state, detail };
    this.#mark = undefined;
  }

  #addsUp(now: Mark): boolean {
    this.#startHead ??= now.head;
    if (this.#mark === undefined && !this.#recall(now)) return false;
    const { head, segment, sent } = this.#mark as Mark;
    const isOurs = now.head - head === now.sent.done - sent.done && now.sent.unsure === sent.unsure;
    const isWhole = this.report.unindexed === 0 || now.sent.reconnects === sent.reconnects;
    const addsUp = isOurs && isWhole && now.segment === segment && this.#again === 0;
    if (addsUp) this.#mark = now;
    return addsUp;
  }

  /** True: nobody has written since the last broker looked, and what it found still holds. */
  #recall(now: Mark): boolean {
    const seen = parseSeen(this.#options.seen.read());
    if (seen === undefined || seen.ours !== this.#ours) return false;
    this.#hopeless = seen.unindexed;
    // A palace that is not whole is worth another attempt, since Chroma may have been started anew as well.
    const holds = seen.head === now.head && seen.segment === now.segment && seen.report.unindexed <= seen.unindexed;
    if (!holds || now.sent.done > 0) return false;
    this.#mark = now;
    this.report = { ...seen.report, resent: 0 };
    return true;
  }

  async #compare(mark: Mark): Promise<void> {
    const { palaceDir, ledgerFile, log, resend } = this.#options;
    const startedAtMs = this.#options.now();
    const isRetry = this.#mark === undefined || this.#mark.sent.reconnects !== mark.sent.reconnects;
    try {
      const data: CompareThreadData = { ledgerFile };
      const thread = await startThread<CompareMethods>(threadFile(import.meta.url, "compare-thread"), data);
      this.#thread = thread;
      if (this.#stopped) return void (await thread.close());
      const input = { palaceDir, ours: this.#options.driver?.collectionId, sinceSeq: this.#startHead ?? mark.head };
      const comparison = await thread.call("compare", input).finally(() => thread.close());
      if (comparison === null || this.#stopped) return;
      this.#mark = mark;
      this.#again = Math.max(0, this.#again - 1);
      this.#hopeless = Math.min(this.#hopeless, comparison.unindexed);
      const isWorthAll = comparison.unindexed > this.#hopeless && isRetry;
      if (isWorthAll) this.#hopeless = comparison.unindexed;
      if (isWorthAll || comparison.missing.length > 0) {
        this.#again = AGAIN;
        await resend(isWorthAll ? "all" : comparison.missing);
      }
      this.#tell(comparison);
      await this.#remember(mark);
    } catch (error) {
      if (!this.#stopped) log.warn("the palace could not be compared", { why: String(error) });
    } finally {
      this.#nextAtMs = this.#options.now() + Math.max(GAP_MIN_MS, (this.#options.now() - startedAtMs) * GAP_FACTOR);
    }
  }

  #tell({ collections, recent, newestAtMs, changed, missing, unindexed }: Comparison): void {
    const { log, guess, palaceDir } = this.#options;
    const rows = collections.reduce((sum, collection) => sum + collection.rows, 0);
    const resent = this.report.resent + missing.length;
    const found = rows + changed + unindexed > 0 || missing.length > 0;
    const before = this.report;
    this.report = {
      ...{ state: found ? "found" : "clear", rows, collections, newestAtMs, changed, resent, unindexed },
      detail: found && rows + changed > 0 ? `written by ${guess(recent > 0)}` : "",
    };
    if (!found || (before.state === "found" && before.rows >= rows && before.unindexed >= unindexed)) return;
    const { detail } = this.report;
    log.warn("others wrote the public palace", {
      palaceDir,
      rows,
      changed,
      missing: missing.length,
      unindexed,
      detail,
    });
  }

  get #ours(): string {
    return this.#options.driver?.collectionId ?? "";
  }

  async #remember({ head, segment }: Mark): Promise<void> {
    const seen: Seen = { ours: this.#ours, head, segment, unindexed: this.#hopeless, report: this.report };
    await this.#options.seen.write(JSON.stringify(seen)).catch(() => {});
  }
}

const IDLE: SentCounts = { done: 0, unsure: 0, busy: false, reconnects: 0 };

function parseSeen(text: string | undefined): Seen | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Seen);
  } catch {
    return undefined;
  }
}
