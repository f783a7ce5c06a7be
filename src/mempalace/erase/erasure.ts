/**
 * Erases forgotten texts from every file that the broker keeps. The ledger lists a text until no file has it any more, so the next broker
 * repeats the work after a kill. The steps, with a fault point after each: send the removals to the palace; erase them from its queue,
 * index, full text and pages; erase the graph's file; erase the ledger's full text, pages and log; remove the entry from the list.
 */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { faultPoint } from "../../base/fault-point.ts";
import type { Log } from "../../base/log.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import { within } from "../../base/time-limit.ts";
import type { PalaceError } from "../../base/errors.ts";
import type { ErasureReport } from "../../protocol/hygiene.ts";
import { chromaFile } from "../format/chroma-file.ts";
import type { EraseMethods } from "./erase-thread.ts";

export type PendingErasure = { seq: number; ids: string[] };

export type ErasureOptions = {
  pending: () => PendingErasure[];
  /** Counts the ids that still wait to be sent to the palace. */
  unsent: (ids: readonly string[]) => number;
  /** Returns the drawers among the ids that wait for a vector. The palace gets their new texts only with the vectors. */
  awaiting: (ids: readonly string[]) => { id: string; text: string }[];
  palace: {
    dir: string;
    driver: "none" | "files" | "chroma" | "memory";
    /** Stops our own writers of the palace. The returned function resumes them. */
    hold: () => Promise<() => void>;
    /** Returns the reason why the palace's files must not be changed at present: another process works on them. */
    lockedBy: () => PalaceError | undefined;
    wake: () => void;
    detail: () => string;
    /** Returns true if the driver's palace is the one in `dir`. */
    isHere: () => boolean;
  };
  graph: { file: string; unsent: () => number; wake: () => void };
  ledger: { rewrite: () => Promise<void>; cutLog: () => Promise<boolean>; done: (seq: number) => Promise<void> };
  fault: string | undefined;
  log: Log;
};

export type Erasure = {
  wake(): void;
  /** Resolves when everything is erased, when an attempt fails, or after `timeoutMs`. */
  settled(timeoutMs: number): Promise<ErasureReport>;
  stop(): Promise<void>;
};

/** Time until an obstacle is checked again, ms. It doubles up to `RETRY_MAX_MS`. */
const RETRY_MIN_MS = 2_000;
const RETRY_MAX_MS = 60_000;
/** Maximum time to wait until removals have reached the palace, ms. The outbox usually sends at once. */
const SENT_MAX_MS = 15_000;
const POLL_MS = 50;
const CUT_ATTEMPTS = 100;

export function startErasure(options: ErasureOptions): Erasure {
  const eraser = new Eraser(options);
  eraser.wake();
  return { wake: () => eraser.wake(), settled: (timeoutMs) => eraser.settled(timeoutMs), stop: () => eraser.stop() };
}

class Eraser {
  readonly #options: ErasureOptions;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Reasons why something could not be erased; empty without any. */
  #problems: string[] = [];
  #notes: string[] = [];
  #failures = 0;
  /** `seq` of the last entry whose texts are erased from the ledger's own files. */
  #rewrittenSeq = 0;
  #stopped = false;

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  wake(): void {
    if (this.#stopped || this.#running !== undefined) return;
    clearTimeout(this.#timer);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (!this.#stopped && this.#options.pending().length > 0)
        this.#timer = setTimeout(() => this.wake(), this.#retryMs()).unref();
    });
  }

  #retryMs(): number {
    this.#failures = this.#problems.length > 0 ? this.#failures + 1 : 0;
    return this.#failures === 0 ? 0 : Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures - 1, 8));
  }

  async settled(timeoutMs: number): Promise<ErasureReport> {
    const until = performance.now() + timeoutMs;
    // Checks again, because the obstacles of an earlier check may be gone.
    for (let left = timeoutMs; left > 0 && this.#options.pending().length > 0; left = until - performance.now()) {
      this.wake();
      await within(this.#running ?? delay(POLL_MS), left);
      if (this.#problems.length > 0) break;
    }
    return { pending: this.#options.pending().length, problems: this.#problems, notes: this.#notes };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { pending, ledger, log, fault } = this.#options;
    const list = pending();
    const last = list.at(-1)?.seq;
    if (last === undefined) return;
    const ids = [...new Set(list.flatMap((one) => one.ids))];
    const problems: string[] = [];
    this.#notes = [];
    const step = async (what: string, work: () => Promise<string | undefined>): Promise<void> => {
      if (this.#stopped) return;
      const problem = await work().catch((error: unknown) => `${what}: ${(error as Error).message}`);
      if (problem !== undefined) problems.push(problem);
    };
    let thread: Promise<Thread<EraseMethods>> | undefined;
    const erase = (): Promise<Thread<EraseMethods>> =>
      (thread ??= startThread<EraseMethods>(threadFile(import.meta.url, "erase-thread"), { fault }));
    try {
      await step("the public palace", () => this.#erasePalace(ids, erase));
      await step("the graph's file", () => this.#eraseGraph(erase));
    } finally {
      await (await thread?.catch(() => undefined))?.close();
    }
    if (this.#rewrittenSeq < last)
      await step("the ledger", async () => {
        await ledger.rewrite();
        if (!(await this.#cut())) return "a process reads the ledger's log; the log is cut in a moment";
        this.#rewrittenSeq = last;
        return undefined;
      });
    if (problems.length === 0 && !this.#stopped) {
      faultPoint("erase.before-done");
      await ledger.done(last);
      await this.#cut();
      faultPoint("erase.after-done");
      log.info("forgotten rows are erased", { upTo: last, ids: ids.length });
    } else if (problems.join() !== this.#problems.join())
      log.warn("some text is not erased yet", { why: problems.join("; ") });
    this.#problems = problems;
  }

  async #erasePalace(ids: readonly string[], erase: () => Promise<Thread<EraseMethods>>): Promise<string | undefined> {
    const { unsent, awaiting } = this.#options;
    const { dir, driver, hold, lockedBy, wake, detail, isHere } = this.#options.palace;
    const isThere = existsSync(chromaFile(dir));
    if (driver === "none") {
      if (isThere)
        this.#notes.push(
          `${chromaFile(dir)} may still have the text: this broker keeps no public palace; MEMPALACE_DRIVER=files palace restart`,
        );
      return undefined;
    }
    const waiting = awaiting(ids);
    // Without a model, a drawer waits for its vector for ever, so the erasure waits only for drawers whose older text the palace has.
    const older = waiting.length > 0 && isHere() ? await (await erase()).call("older", dir, waiting) : [];
    if (waiting.length > 0 && !isHere())
      this.#notes.push(
        `the Chroma server may keep earlier texts of drawers that wait for their vectors, ${waiting.length} by now: palace status`,
      );
    const isUnsent = (): boolean => unsent(ids) > 0 || awaiting(older).length > 0;
    for (const until = performance.now() + SENT_MAX_MS; isUnsent(); await delay(POLL_MS)) {
      if (this.#stopped) return undefined;
      if (performance.now() > until) return `the public palace is not up to date: ${detail()}`;
      wake();
    }
    faultPoint("erase.after-sent");
    if (!isHere()) {
      if (isThere)
        this.#notes.push(
          `${chromaFile(dir)}, an earlier public palace, may still have the text: delete this file if nobody uses it`,
        );
      if (driver === "chroma")
        this.#notes.push(
          "the Chroma server's own files, which cannot be reached from here, keep deleted bytes until they are rewritten: stop it and run `chroma vacuum --path ITS_FOLDER`",
        );
      return undefined;
    }
    // Does not erase while another process works on the palace, because that process's write to the index would be lost.
    const locked = lockedBy();
    if (locked !== undefined) return locked.message;
    const release = await hold();
    try {
      await (await erase()).call("palace", dir, ids);
    } finally {
      release();
    }
    return undefined;
  }

  async #eraseGraph(erase: () => Promise<Thread<EraseMethods>>): Promise<string | undefined> {
    const { file, unsent, wake } = this.#options.graph;
    if (!existsSync(file)) return undefined;
    for (const until = performance.now() + SENT_MAX_MS; unsent() > 0; await delay(POLL_MS)) {
      if (this.#stopped) return undefined;
      if (performance.now() > until) return "the graph's file is not up to date: palace status says why";
      wake();
    }
    await (await erase()).call("graph", file);
    return undefined;
  }

  /** Truncates the ledger's log. Readers may be using it, so it tries several times. */
  async #cut(): Promise<boolean> {
    for (let attempt = 0; attempt < CUT_ATTEMPTS; attempt++) {
      if (await this.#options.ledger.cutLog()) return true;
      await delay(POLL_MS);
    }
    return false;
  }
}
