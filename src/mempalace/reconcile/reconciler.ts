/**
 * Finds foreign writers that no lock of ours reaches: a MemPalace of another HOME, or one that sees the palace at
 * another path. The palace numbers every write of every process. While the number grows by what our driver sent, nobody
 * else wrote; when the count differs, at the start or later, a thread compares palace and ledger, and the status
 * reports what it found.
 *
 * Rows that others wrote or changed, and drawers they deleted before this broker started, are adopted into the ledger
 * (mempalace/adopt); then the comparison runs again, and only what it proves counts as adopted. Drawers of ours
 * that are missing there without such a proof, or that a foreign writer deleted while this broker ran, are listed in
 * the outbox again. Imported by broker/palace/palace.ts.
 */
import type { Log } from "../../base/log.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import type { AdoptionReport, ForeignWritersReport } from "../../protocol/spec.ts";
import type { Adopter } from "../adopt/adoption.ts";
import type { Horizon } from "../adopt/foreign-rows.ts";
import { DRAWERS } from "../format/chroma-file.ts";
import { refusalOf } from "../format/refusal.ts";
import type { CompareMethods, CompareThreadData } from "./compare-thread.ts";
import type { Comparison } from "./compare.ts";
import type { CountedDriver } from "./counted-driver.ts";
import { lookAt } from "./palace-position.ts";
import { consumeShutdownMarker, writeShutdownMarker } from "./shutdown-marker.ts";
import { isForeign, type Mark, NOT_ADOPTED, NOTHING, parseSeen, pauseAfter, type Seen } from "./last-look.ts";

export type WatchOptions = {
  palaceDir: string;
  /** The drawers' collection, unless it has the default name. */
  collection?: string;
  ledgerFile: string;
  /** Undefined: nothing in the palace is ours. */
  driver: CountedDriver | undefined;
  /** The position at which the last broker left the palace, so that an unchanged palace is not read again. */
  seen: { read(): string | undefined; write(text: string): Promise<void> };
  /** Lists drawers in the outbox again. */
  resend: (ids: readonly string[] | "all") => Promise<void>;
  /** Lists closets in their outbox again. */
  resendClosets?: (ids: readonly string[] | "all") => Promise<void>;
  /** Sends nothing from the moment it resolves until its answer is called. */
  hold: () => Promise<() => void>;
  /** True while another MemPalace holds the palace, and the driver waits for it. */
  isLocked?: () => boolean;
  /** Undefined: foreign rows are counted and not adopted. */
  adopter?: Adopter | undefined;
  /** Called when palace and ledger agree, or cannot be compared: waiting work may go on. Contract: does not throw. */
  onSettled?: () => void;
  /** Guesses who wrote foreign rows; `recent`: some of it while this broker ran. */
  guess: (recent: boolean) => string;
  log: Log;
  /** A clock that is never stepped, ms; tests supply their own. */
  now?: () => number;
};

export type Watch = {
  status(): ForeignWritersReport;
  adoption(): AdoptionReport;
  /** False while the palace may hold rows that the ledger lacks: nothing may be written there. */
  isSettled(): boolean;
  /** True for a palace that cannot be compared now and was fully adopted when last looked at: it may be rebuilt. */
  wasVerified(): boolean;
  /** Does what is due now; for tests, which do not wait for the clock. */
  look(): Promise<void>;
  stop(): Promise<void>;
};

const LOOK_MS = 2_000;
/** Comparisons after something was sent again. */
const AGAIN = 2;
/**
 * Comparisons after foreign writes: a Chroma commits records to the queue, where they are numbered, and later to the
 * tables from which they are read.
 */
const LATE = 3;

export function startWatch(options: WatchOptions): Watch {
  const watch = new Watcher({
    now: () => performance.now(),
    adopter: undefined,
    isLocked: () => false,
    onSettled: () => {},
    resendClosets: () => Promise.resolve(),
    collection: DRAWERS,
    ...options,
  });
  const timer = setInterval(() => void watch.look(), LOOK_MS).unref();
  if (options.driver !== undefined) options.driver.onQuiet = () => watch.lookSoon();
  return {
    status: () => watch.report,
    adoption: () => watch.adoption,
    isSettled: () => watch.isSettled,
    wasVerified: () =>
      watch.adoption.state === "refused" && parseSeen(options.seen.read())?.adoption?.state === "verified",
    look: () => watch.look(),
    stop: async () => {
      clearInterval(timer);
      await watch.stop();
    },
  };
}

class Watcher {
  readonly #options: Required<WatchOptions>;
  report: ForeignWritersReport = { ...NOTHING, state: "looking", detail: "" };
  adoption: AdoptionReport = NOT_ADOPTED;
  /** The palace's number when both sides held the same; higher numbers that are not ours are another's work. */
  #agreedHead: number | undefined;
  /** A foreign writer wrote while this broker ran, and its rows were adopted. */
  #hasForeignWriter = false;
  /** Rows still have to be adopted: the numbers may agree while the sides do not. */
  #isBehind = false;
  #mark: Mark | undefined;
  /** The palace's number when this broker first looked and nobody else held the palace. */
  #startHead: number | undefined;
  #lastHead = 0;
  #comparing: Promise<void> | undefined;
  #thread: Thread<CompareMethods> | undefined;
  #nextAtMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  /** The driver cannot open the palace. */
  #unopened = false;
  /** Rows without a vector that sending everything again has not helped. */
  #hopeless = 0;
  #hopelessClosets = 0;
  /** Comparisons still wanted although the numbers agree: what was sent again should be there by then. */
  #again = 0;
  /** Comparisons still wanted for records that are numbered and cannot be read yet. */
  #late = 0;

  readonly #isLeft: boolean;

  constructor(options: Required<WatchOptions>) {
    this.#options = options;
    this.#isLeft = consumeShutdownMarker(options.palaceDir, options.seen);
  }

  /** A busy driver is quiet only for a moment, which the timer would miss. */
  lookSoon(): void {
    if (this.#options.now() - this.#lookedAtMs >= LOOK_MS) void this.look();
  }

  get isSettled(): boolean {
    const own = this.#options.driver?.collectionId;
    return this.report.state !== "looking" && (this.#mark === undefined || this.#mark.own === own);
  }

  async look(): Promise<void> {
    if (this.#stopped) return;
    if (this.#comparing !== undefined) return this.#comparing;
    this.#lookedAtMs = this.#options.now();
    const before = this.report.state;
    const found = this.#read();
    const isAgreed = found !== undefined && this.#addsUp(found);
    if (isAgreed && before === "looking") this.#options.onSettled();
    if (found === undefined || isAgreed || this.#options.now() < this.#nextAtMs) return;
    this.#comparing = this.#compare(found);
    await this.#comparing;
    this.#comparing = undefined;
    if (this.report.state !== "looking") this.#options.onSettled();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#options.adopter?.stop();
    await this.#thread?.close();
    await this.#comparing;
    const found = this.#read();
    const isOurs = this.#options.driver?.kind === "files";
    if (found !== undefined && this.#addsUp(found))
      await this.#remember(found, isOurs ? writeShutdownMarker(this.#options.palaceDir) : undefined);
  }

  /** Undefined: nothing can be judged now. The report tells why, unless a moment later will do. */
  #read(): Mark | undefined {
    const look = lookAt(this.#options);
    if (look === undefined) return undefined;
    if (look === "unopened") return this.#notOpen();
    if ("state" in look) return this.#rest(look.state, look.detail);
    if (this.#unopened) this.adoption = NOT_ADOPTED;
    this.#unopened = false;
    this.#lastHead = look.head;
    return look;
  }

  /** The next look tries again; files that the driver cannot use at all are reported, since nothing else would. */
  #notOpen(): undefined {
    const { kind, openError } = this.#options.driver ?? {};
    this.#unopened = kind === "files" && openError !== undefined;
    if (this.#unopened) this.#refuse(openError);
    return undefined;
  }

  #rest(state: "off" | "unreadable", detail: string): undefined {
    const { resent, taken, state: before } = this.report;
    this.report = { ...NOTHING, resent, taken, state, detail };
    this.#mark = undefined;
    if (before === "looking") this.#options.onSettled();
  }

  #addsUp(now: Mark): boolean {
    if (this.#isOwn(now)) this.#startHead ??= now.head;
    if (this.#mark === undefined && !this.#recall(now)) return false;
    const { head, segment, own, sent } = this.#mark as Mark;
    const isOurs = now.head - head === now.sent.done - sent.done && now.sent.unsure === sent.unsure;
    const isWhole = this.report.unindexed === 0 || now.sent.reconnects === sent.reconnects;
    const addsUp = isOurs && isWhole && now.segment === segment && own === now.own && !this.#isDue;
    if (!addsUp) return false;
    this.#mark = now;
    this.#agreedHead = now.head;
    return true;
  }

  /** A comparison is wanted although the numbers agree. */
  get #isDue(): boolean {
    return this.#again > 0 || this.#late > 0 || this.#isBehind;
  }

  /** True: nobody has written since the last broker looked, and its findings still hold. */
  #recall(now: Mark): boolean {
    const seen = parseSeen(this.#options.seen.read());
    if (seen === undefined || seen.ours !== this.#ours) return false;
    this.#hopeless = seen.unindexed;
    // A ledger of an older version has never adopted anything.
    if (this.#options.adopter !== undefined && seen.adopt !== (now.adopt ?? "")) return false;
    if (this.#options.adopter !== undefined && seen.closets !== (now.closets ?? "")) return false;
    // Its finding about the palace's vectors holds as long as the palace's rows do.
    if (seen.adoption?.state === "verified") this.adoption = { ...NOT_ADOPTED, ...seen.adoption, taken: 0 };
    this.#agreedHead = seen.agreedHead;
    // An incomplete palace is worth another attempt, since Chroma may have been restarted as well.
    const holds = seen.head === now.head && seen.segment === now.segment && seen.report.unindexed <= seen.unindexed;
    if (!holds || now.sent.done > 0) return false;
    this.#mark = now;
    this.report = { ...seen.report, resent: 0, taken: 0 };
    return true;
  }

  /** The palace may hold older rows that this ledger never saw, or an older copy may have been restored. */
  #horizon(): Horizon {
    return { sinceSeq: this.#agreedHead ?? 0, untilSeq: this.#startHead ?? this.#lastHead, isLeft: this.#isLeft };
  }

  async #compare(mark: Mark): Promise<void> {
    const { palaceDir, ledgerFile, resend, adopter } = this.#options;
    const startedAtMs = this.#options.now();
    const isRetry = this.#mark === undefined || this.#mark.sent.reconnects !== mark.sent.reconnects;
    if (adopter !== undefined && this.adoption.state === "none" && mark.adopt !== undefined)
      this.adoption = { ...this.adoption, state: "verifying" };
    try {
      const data: CompareThreadData = { ledgerFile };
      const thread = await startThread<CompareMethods>(threadFile(import.meta.url, "compare-thread"), data);
      this.#thread = thread;
      if (this.#stopped) return void (await thread.close());
      const sinceSeq = this.#startHead ?? mark.head;
      const compare = (): Promise<Comparison | null> =>
        thread.call("compare", {
          ...{ palaceDir, ours: this.#options.driver?.collectionId, sinceSeq },
          ...(adopter === undefined ? {} : { adopt: mark.adopt, horizon: this.#horizon() }),
        });
      let comparison: Comparison | null;
      let first: Comparison | null;
      try {
        first = comparison = await compare();
        if (isForeign(comparison) && adopter !== undefined && mark.adopt !== undefined) {
          if (comparison?.isForeign === true) await this.#adopt(adopter, mark.adopt);
          const closets = comparison?.closets;
          if (closets?.isForeign === true) await this.#adoptClosets(adopter, closets.collectionId ?? "");
          this.adoption = { ...this.adoption, state: "verifying" };
          comparison = await compare();
        }
      } finally {
        await thread.close();
      }
      if (comparison === null || this.#stopped) return;
      this.#isBehind = isForeign(comparison);
      if (!this.#isBehind) this.#agree(mark, comparison);
      this.#late = this.#othersWrote(mark) ? LATE : Math.max(0, this.#late - 1);
      this.#again = Math.max(0, this.#again - 1);
      this.#mark = mark;
      this.#hopeless = Math.min(this.#hopeless, comparison.unindexed);
      const isWorthAll = comparison.unindexed > this.#hopeless && isRetry;
      if (isWorthAll) this.#hopeless = comparison.unindexed;
      if (isWorthAll || comparison.missing.length > 0) {
        this.#again = AGAIN;
        await resend(isWorthAll ? "all" : comparison.missing);
      }
      await this.#mendClosets(comparison);
      this.#tell(comparison, first ?? comparison);
      // If this broker ends, the next one finds what is still in Chroma's queue.
      if (this.#late === 0) await this.#remember(mark);
    } catch (error) {
      if (!this.#stopped) this.#refuse(error);
    } finally {
      this.#nextAtMs = this.#options.now() + pauseAfter(this.#options.now() - startedAtMs);
    }
  }

  #othersWrote({ head, sent }: Mark): boolean {
    return this.#mark !== undefined && head - this.#mark.head !== sent.done - this.#mark.sent.done;
  }

  /** Records why the comparison failed. It is tried again; callers that wait for it get the reason meanwhile. */
  #refuse(error: unknown): void {
    const { log, palaceDir } = this.#options;
    const { message: why, hint } = refusalOf(error, palaceDir);
    if (this.adoption.state !== "refused" || this.adoption.detail !== why)
      log.warn("the palace could not be compared", { why, hint });
    this.adoption = { ...this.adoption, state: "refused", detail: why, hint };
  }

  async #adopt(adopter: Adopter, collectionId: string): Promise<void> {
    const before = this.report.taken;
    this.adoption = { ...this.adoption, state: "running", detail: "", hint: "" };
    // The outbox sends nothing while the adopter reads: drawers deleted or changed here meanwhile stay listed, and are
    // recognised as ours.
    const release = await this.#options.hold();
    try {
      const taken = await adopter.run(collectionId, this.#horizon(), ({ read, total, taken, detail }) => {
        this.adoption = { state: "running", rows: total, read, taken: before + taken, atMs: null, detail, hint: "" };
      });
      this.report = { ...this.report, taken: before + taken };
    } finally {
      release();
    }
  }

  async #adoptClosets(adopter: Adopter, collectionId: string): Promise<void> {
    const release = await this.#options.hold();
    try {
      await adopter.run(collectionId, this.#horizon(), () => {}, "closets");
    } finally {
      release();
    }
  }

  /** Sends lost closets again; an index that still lacks vectors after that is not touched. */
  async #mendClosets({ closets }: Comparison): Promise<void> {
    const { missing, unindexed } = closets ?? { missing: [], unindexed: 0 };
    const isWorthAll = unindexed > this.#hopelessClosets;
    this.#hopelessClosets = unindexed;
    if (!isWorthAll && missing.length === 0) return;
    this.#again = AGAIN;
    await this.#options.resendClosets(isWorthAll ? "all" : missing);
  }

  /** Every row of the palace is in the ledger and reads the same there. */
  #agree(mark: Mark, { rows, inexact }: Comparison): void {
    const { adopter, log } = this.#options;
    this.#agreedHead = mark.head;
    if (adopter === undefined || mark.adopt === undefined) return;
    const { taken } = this.report;
    const { state, detail: before } = this.adoption;
    const detail = state === "refused" ? "" : before;
    this.adoption = { state: "verified", rows, read: rows, taken, atMs: Date.now(), detail, hint: "", inexact };
    if (taken > 0 && state !== "verified") log.info("the palace's rows are adopted and verified", { rows, taken });
  }

  /** `first`: the comparison before anything was adopted. */
  #tell({ collections, changed, missing, unindexed }: Comparison, first: Comparison): void {
    const { log, guess, palaceDir } = this.#options;
    const rows = collections.reduce((sum, collection) => sum + collection.rows, 0);
    const before = this.report;
    const [taken, resent] = [before.taken, before.resent + missing.length];
    const { recent } = first;
    const newestAtMs = first.newestAtMs ?? before.newestAtMs;
    this.#hasForeignWriter ||= recent > 0 && rows === 0;
    // Rows that a MemPalace wrote before this broker are adopted silently; a writer beside this broker is logged.
    const found = rows + changed + unindexed > 0 || missing.length > 0 || this.#hasForeignWriter;
    this.report = {
      ...{ state: found ? "found" : "clear", rows, collections, newestAtMs, changed, resent, unindexed, taken },
      detail:
        found && (rows + changed > 0 || this.#hasForeignWriter)
          ? `written by ${guess(recent > 0 || this.#hasForeignWriter)}`
          : "",
    };
    if (!found || (before.state === "found" && before.rows >= rows && before.unindexed >= unindexed)) return;
    const lost = { missing: missing.length, unindexed };
    log.warn("others wrote the public palace", { palaceDir, rows, changed, ...lost, detail: this.report.detail });
  }

  get #ours(): string {
    return this.#options.driver?.collectionId ?? "";
  }

  /** Returns true if the driver had it open, or without a driver: later deletions happen while this broker runs. */
  #isOwn({ own }: Mark): boolean {
    return this.#options.driver === undefined || own !== undefined;
  }

  async #remember(mark: Mark, marker?: number): Promise<void> {
    if (!this.#isOwn(mark)) return;
    const { head, segment, adopt, closets } = mark;
    const seen: Seen = {
      ...{ ours: this.#ours, head, segment, unindexed: this.#hopeless, report: this.report },
      ...{ adopt: adopt ?? "", closets: closets ?? "", agreedHead: this.#agreedHead ?? 0, adoption: this.adoption },
      ...(marker === undefined ? {} : { seal: marker }),
    };
    await this.#options.seen.write(JSON.stringify(seen)).catch(() => {});
  }
}
