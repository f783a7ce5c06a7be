/** Adopts foreign changes of the graph files, then sends the ledger's new rows. After a kill, the next broker compares or sends again. */
import { existsSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Finding, RowName } from "../../memory/ledger/graph-row.ts";
import { faultPoint } from "../../base/fault-point.ts";
import type { Log } from "../../base/log.ts";
import { type LazyThread, lazyThread, type Thread, threadFile } from "../../base/thread.ts";
import { within } from "../../base/time-limit.ts";
import type { RoomCount } from "../../memory/port/graph.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import type { GraphMethods } from "./graph-thread.ts";
import { linksFolder, newerHallways } from "./link-file.ts";
import type { GraphPaths } from "./side.ts";

export { LINKS_FOLDER } from "./link-file.ts";

export type GraphSyncOptions = {
  paths: GraphPaths;
  ledger: {
    isEmpty(): boolean;
    facts(): number;
    pending(): { rows: number; oldestAtMs: number | null };
    adopt(finding: Finding): Promise<{ taken: number; relisted: number; removed: number }>;
    done(rows: Sent["rows"]): Promise<void>;
    /** Folder of link files that the ledger was last compared with (`linksFolder`). */
    folder: { read(): string | undefined; write(folder: string): Promise<void> };
  };
  log: Log;
};

/** Error texts by the step that failed; "" means no error. */
type Problems = { looking: string; sending: string; step: string };
type Sent = { rows: (RowName & { seq: number })[] };

export type GraphSync = {
  /** Call it after each commit that changed the graph; it needs little time. */
  wake(): void;
  /** Resolves when the files have every commit, or after SENT_MAX_MS; at once if commits cannot be sent at present. */
  sent(): Promise<void>;
  /** Resolves when the ledger has all foreign writes so far, or after FRESH_MAX_MS. */
  fresh(): Promise<void>;
  rooms(): Promise<RoomCount[]>;
  status(): StatusReport["graph"];
  /** Sends the remaining rows and closes, within a limited time. Idempotent. */
  stop(): Promise<void>;
};

/** Interval at which the files are checked even if no query reads the graph. */
const LOOK_MS = 2_000;
/** Time that a commit waits for more commits, so that they are sent together. */
const GATHER_MS = 25;
/** Maximum time that a query waits for foreign writes. */
const FRESH_MAX_MS = 250;
/** Maximum time that a write's answer waits until its fact is in the file. */
const SENT_MAX_MS = 250;
const OPEN_MAX_MS = 10_000;
const STOP_MAX_MS = 2_000;
/** Number of rows adopted in one ledger transaction. Agents' writes run in between. */
const ROWS_PER_GROUP = 2_000;
/** Maximum number of rounds of adopting and sending in one run, because another process may write all the time. */
const ROUNDS_MAX = 20;
const ROUND_STEP_MS = 2;

/** Resolves after the first check of the files, or after ten seconds. Never rejects; the status reports a failed check. */
export async function startGraphSync(options: GraphSyncOptions): Promise<GraphSync> {
  const sync = new Sync(options);
  await within(sync.run(), OPEN_MAX_MS);
  const timer = setInterval(() => void sync.run(), LOOK_MS).unref();
  let stopping: Promise<void> | undefined;
  return {
    wake: () => sync.wake(),
    sent: () => (stopping === undefined ? within(sync.sendNow(), SENT_MAX_MS) : Promise.resolve()),
    fresh: () => within(sync.look(), FRESH_MAX_MS),
    rooms: () => sync.rooms(),
    status: () => sync.status(),
    stop: () => {
      clearInterval(timer);
      return (stopping ??= sync.stop());
    },
  };
}

class Sync {
  readonly #options: GraphSyncOptions;
  readonly #thread: LazyThread<GraphMethods>;
  /** Last queued step. Each step begins when the previous one has ended. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #queued = new Map<"look" | "send", Promise<void>>();
  #gathering: NodeJS.Timeout | undefined;
  #problems: Problems = { looking: "", sending: "", step: "" };
  #adopted = 0;
  #elsewhere = { seen: "", facts: 0 };
  #stopped = false;

  constructor(options: GraphSyncOptions) {
    this.#options = options;
    this.#thread = lazyThread(threadFile(import.meta.url, "graph-thread"), options.paths);
  }

  wake(): void {
    if (this.#stopped) return;
    // Starts the thread while this commit waits for more commits. If that fails, `run` reports it.
    this.#thread.start().catch(() => {});
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.run();
    }, GATHER_MS);
  }

  /** Sends all commits without waiting for more commits. Does nothing after a failed run, because the next regular run tries again. */
  async sendNow(): Promise<void> {
    // Lets the commit call `wake` first, so that the timer that `wake` starts is cleared, too.
    await new Promise(setImmediate);
    if (this.#stopped || this.#problem !== "") return;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    await this.run();
  }

  run(): Promise<void> {
    return this.#enqueue("send", async (thread) => {
      let isDisturbed = false;
      for (let round = 0; round < ROUNDS_MAX; round++) {
        await this.#adopt(thread);
        const { rows, problem, others } = await thread.call("send");
        faultPoint("graph.after-send");
        if (rows.length > 0) await this.#options.ledger.done(rows);
        faultPoint("graph.after-done");
        this.#enter({ sending: problem });
        isDisturbed = others;
        if (others) await delay(round * ROUND_STEP_MS);
        else if (rows.length === 0) return;
      }
      if (isDisturbed) this.#enter({ sending: "other programs keep writing the file; the broker tries again" });
      else this.wake();
    });
  }

  look(): Promise<void> {
    return this.#enqueue("look", (thread) => this.#adopt(thread));
  }

  async rooms(): Promise<RoomCount[]> {
    return this.#thread.call("rooms");
  }

  status(): StatusReport["graph"] {
    const { ledger } = this.#options;
    const { rows: lag, oldestAtMs } = ledger.pending();
    const lagMs = oldestAtMs === null ? 0 : Math.max(0, Date.now() - oldestAtMs);
    const state = this.#problem !== "" ? "unreachable" : lag > 0 ? "syncing" : "synced";
    const elsewhere = this.#elsewhere.facts === 0 ? {} : { elsewhere: this.#factsElsewhere() };
    const newer = newerHallways(this.#options.paths.hallwaysFile);
    return {
      facts: ledger.facts(),
      state,
      lag,
      lagMs,
      takenOver: this.#adopted,
      detail: this.#problem,
      ...elsewhere,
      ...(newer !== undefined && { newer }),
    };
  }

  async stop(): Promise<void> {
    clearTimeout(this.#gathering);
    await within(this.run(), STOP_MAX_MS);
    this.#stopped = true;
    if (!this.#thread.isStarted()) return;
    await within(
      this.#thread.call("close").catch(() => {}),
      STOP_MAX_MS,
    );
    await this.#thread.close();
  }

  /** Queues a step, unless one of the same kind is waiting. Never rejects. */
  #enqueue(kind: "look" | "send", step: (thread: Thread<GraphMethods>) => Promise<void>): Promise<void> {
    const waiting = this.#queued.get(kind);
    if (waiting !== undefined) return waiting;
    if (this.#stopped || !this.#isNeeded()) return Promise.resolve();
    const next = this.#last.then(async () => {
      this.#queued.delete(kind);
      try {
        await step(await this.#thread.start());
        this.#enter({ step: "" });
      } catch (error) {
        if (!this.#stopped) this.#enter({ step: (error as Error).message });
      }
    });
    this.#queued.set(kind, next);
    this.#last = next;
    return next;
  }

  /** Returns false if neither a graph file nor a row of the graph exists. Such a palace needs no thread. */
  #isNeeded(): boolean {
    if (this.#thread.isStarted()) return true;
    const { graphFile, otherGraphFile, tunnelsFile, hallwaysFile } = this.#options.paths;
    const files = [graphFile, otherGraphFile, tunnelsFile, hallwaysFile].filter((file) => file !== undefined);
    return files.some(existsSync) || !this.#options.ledger.isEmpty();
  }

  async #adopt(thread: Thread<GraphMethods>): Promise<void> {
    const { ledger, log } = this.#options;
    const { finding, problem } = await thread.call("look");
    this.#enter({ looking: problem });
    const total = { taken: 0, relisted: 0, removed: 0 };
    for (const part of partsOf(finding)) {
      const { taken, relisted, removed } = await ledger.adopt(part);
      total.taken += taken;
      total.relisted += relisted;
      total.removed += removed;
    }
    await thread.call("accept");
    // By now the links that this folder's files lacked are queued for sending. So from the next look on, a link that a file lacks was
    // deleted from the file.
    const folder = linksFolder(this.#options.paths.tunnelsFile);
    if (problem === "" && folder !== undefined && folder !== ledger.folder.read()) await ledger.folder.write(folder);
    const count = total.taken + total.relisted + total.removed;
    this.#adopted += total.taken + total.removed;
    await this.#lookElsewhere(thread);
    if (count > 0) log.info("other programs wrote the graph", total);
  }

  #factsElsewhere(): { file: string; facts: number } {
    return { file: this.#options.paths.otherGraphFile ?? "", facts: this.#elsewhere.facts };
  }

  /** Counts the facts in the graph file of a MemPalace that was started with `--palace`, if that file or ours has changed. */
  async #lookElsewhere(thread: Thread<GraphMethods>): Promise<void> {
    const { otherGraphFile: file = "" } = this.#options.paths;
    const sign = (path: string): string => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? "" : `${found.size} ${found.mtimeMs}`;
    };
    const theirs = file === "" ? "" : sign(file);
    const seen = theirs === "" ? "" : [theirs, sign(`${file}-wal`), this.#options.ledger.facts()].join();
    if (seen === this.#elsewhere.seen) return;
    // The broker does not use this file, so a damaged file counts as empty instead of causing an error.
    const facts = seen === "" ? 0 : await thread.call("factsElsewhere").catch(() => 0);
    this.#elsewhere = { seen, facts };
  }

  get #problem(): string {
    return [...new Set(Object.values(this.#problems))].filter(Boolean).join("; ");
  }

  #enter(change: Partial<Problems>): void {
    const before = this.#problem;
    this.#problems = { ...this.#problems, ...change };
    if (this.#problem === before) return;
    if (this.#problem === "") this.#options.log.info("the graph files can be read and written again");
    else this.#options.log.warn("a graph file cannot be read or written", { why: this.#problem });
  }
}

function* partsOf({ rows, missing, deleted }: Finding): Generator<Finding> {
  const count = Math.max(rows.length, missing.length, deleted.length);
  for (let start = 0; start < count; start += ROWS_PER_GROUP) {
    const part = <T>(list: T[]): T[] => list.slice(start, start + ROWS_PER_GROUP);
    yield { rows: part(rows), missing: part(missing), deleted: part(deleted) };
  }
}
