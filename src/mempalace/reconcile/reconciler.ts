/**
 * Finds foreign writers, which do not use our lock. If the palace's sequence number grew by more than our driver sent, a thread compares
 * palace and ledger, and the ledger adopts foreign rows. It adopts foreign deletions only from before this broker's start; other drawers
 * that the palace lacks are sent to the palace again.
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
  collection?: string;
  ledgerFile: string;
  driver: CountedDriver | undefined;
  /** Stored record of the last look (`Seen`). If the palace has not changed since, it is not compared again. */
  seen: { read(): string | undefined; write(text: string): Promise<void> };
  resend: (ids: readonly string[] | "all") => Promise<void>;
  resendClosets?: (ids: readonly string[] | "all") => Promise<void>;
  /** Stops all sending. Resolves when it has stopped. The returned function resumes sending. */
  hold: () => Promise<() => void>;
  /** Returns true while another MemPalace has the palace's lock and the driver waits for it. */
  isLocked?: () => boolean;
  /** Adopts foreign rows in the ledger. If undefined, foreign rows are only counted. */
  adopter?: Adopter | undefined;
  /** Called when palace and ledger agree or cannot be compared: the outboxes may then send. Must not throw. */
  onSettled?: () => void;
  /** Guesses who wrote the foreign rows, as text for the report. `recent`: some rows were written while this broker ran. */
  guess: (recent: boolean) => string;
  log: Log;
  now?: () => number;
};

export type Watch = {
  status(): ForeignWritersReport;
  adoption(): AdoptionReport;
  /** Returns false while the palace may have rows that the ledger lacks. The driver must not write to the palace until then. */
  isSettled(): boolean;
  /** Returns true if the palace cannot be compared at present but was fully adopted before. Such a palace may be rebuilt. */
  wasVerified(): boolean;
  /** Looks at the palace now. Tests call it instead of waiting for the timer. */
  look(): Promise<void>;
  stop(): Promise<void>;
};

const LOOK_MS = 2_000;
/** Number of further comparisons after rows were sent again, to check that they arrived. */
const AGAIN = 2;
/** Number of further comparisons after foreign writes, because Chroma numbers records before they become readable. */
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
  /** The palace's sequence number when palace and ledger were last equal. Later writes that are not ours are foreign. */
  #agreedHead: number | undefined;
  /** True if a foreign writer wrote while this broker ran and all its rows were adopted. */
  #hasForeignWriter = false;
  /** True while foreign rows are not adopted yet. A comparison is then due even if the sequence number stays the same. */
  #isBehind = false;
  #mark: Mark | undefined;
  /** The palace's sequence number when this broker first looked with the palace open. */
  #startHead: number | undefined;
  #lastHead = 0;
  #comparing: Promise<void> | undefined;
  #thread: Thread<CompareMethods> | undefined;
  #nextAtMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #unopened = false;
  /** Number of vectors that the index lacks although all rows were sent again. If more are missing, all rows are sent once more. */
  #hopeless = 0;
  #hopelessClosets = 0;
  /** Number of comparisons still to make after lost rows were sent again, even if palace and ledger agree. */
  #again = 0;
  /** Number of comparisons still to make for foreign records that Chroma has numbered but not made readable yet. */
  #late = 0;

  readonly #isLeft: boolean;

  constructor(options: Required<WatchOptions>) {
    this.#options = options;
    this.#isLeft = consumeShutdownMarker(options.palaceDir, options.seen);
  }

  /** Looks when the driver pauses, at most once per `LOOK_MS`. The timer would miss the short pauses of a busy driver. */
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

  /** Reads the palace's sequence number. Returns undefined if that fails; the reports then have the reason, unless it is only temporary. */
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

  /** Returns undefined. If the driver failed to open the palace, reports its error. */
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

  get #isDue(): boolean {
    return this.#again > 0 || this.#late > 0 || this.#isBehind;
  }

  /** Restores the last broker's findings. Returns true if the palace has not changed since, so that no comparison is needed. */
  #recall(now: Mark): boolean {
    const seen = parseSeen(this.#options.seen.read());
    if (seen === undefined || seen.ours !== this.#ours) return false;
    this.#hopeless = seen.unindexed;
    // The last broker adopted another collection or none, so its findings do not count.
    if (this.#options.adopter !== undefined && seen.adopt !== (now.adopt ?? "")) return false;
    if (this.#options.adopter !== undefined && seen.closets !== (now.closets ?? "")) return false;
    // Restores the report of the adoption, which also says what happened to the palace's vectors.
    if (seen.adoption?.state === "verified") this.adoption = { ...NOT_ADOPTED, ...seen.adoption, taken: 0 };
    this.#agreedHead = seen.agreedHead;
    // Compares again if more vectors are missing than after all rows were last sent, because a restarted Chroma may accept them.
    const holds = seen.head === now.head && seen.segment === now.segment && seen.report.unindexed <= seen.unindexed;
    if (!holds || now.sent.done > 0) return false;
    this.#mark = now;
    this.report = { ...seen.report, resent: 0, taken: 0 };
    return true;
  }

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
      // While Chroma may have unreadable records, the findings are not stored, so that the next broker compares again.
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

  /** Records in `adoption` and in the log why the comparison failed. The next look tries again. */
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
    // Sends nothing while the adopter reads: drawers that change meanwhile stay in the outbox, which shows the adopter that they are ours.
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

  /** Sends lost closets again. Sends all closets if the index lacks more of their vectors than at the last comparison. */
  async #mendClosets({ closets }: Comparison): Promise<void> {
    const { missing, unindexed } = closets ?? { missing: [], unindexed: 0 };
    const isWorthAll = unindexed > this.#hopelessClosets;
    this.#hopelessClosets = unindexed;
    if (!isWorthAll && missing.length === 0) return;
    this.#again = AGAIN;
    await this.#options.resendClosets(isWorthAll ? "all" : missing);
  }

  /** Records that the ledger has every row of the palace, with the same content. */
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

  /** Puts the result of a comparison into `report` and the log. `first`: the result before foreign rows were adopted. */
  #tell({ collections, changed, missing, unindexed }: Comparison, first: Comparison): void {
    const { log, guess, palaceDir } = this.#options;
    const rows = collections.reduce((sum, collection) => sum + collection.rows, 0);
    const before = this.report;
    const [taken, resent] = [before.taken, before.resent + missing.length];
    const { recent } = first;
    const newestAtMs = first.newestAtMs ?? before.newestAtMs;
    this.#hasForeignWriter ||= recent > 0 && rows === 0;
    // Does not report adopted rows from before this broker's start. Reports a foreign writer that wrote while this broker ran.
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
    log.warn("foreign writes in the palace", { palaceDir, rows, changed, ...lost, detail: this.report.detail });
  }

  get #ours(): string {
    return this.#options.driver?.collectionId ?? "";
  }

  /** Returns true without a driver, or if the driver has the palace open. Only then are the findings stored for the next broker. */
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
