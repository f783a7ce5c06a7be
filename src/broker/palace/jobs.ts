/** Runs long work in the background, one job at a time. The job of a killed broker is lost, but can be requested again. */
import { randomUUID } from "node:crypto";
import type { Log } from "../../base/log.ts";
import { type Progress, STARTING } from "../../base/job-progress.ts";
import type { Thread } from "../../base/thread.ts";
import { within } from "../../base/time-limit.ts";
import { PalaceError, unavailable } from "../../base/errors.ts";
import type { JobKind, JobReport, JsonObject } from "../../protocol/spec.ts";
import { shuttingDown } from "../engine.ts";

/** Work of a job. After `cancel`, `run` ends early with BROKER_CANCELLED. */
export type JobWork = {
  run(): Promise<JsonObject>;
  progress(): Promise<Progress>;
  cancel(): void;
};

type JobMethods = { progress(): Progress; cancel(): void };

/** Sets the step that the job's report shows until the job's thread reports a step of its own. Errors: BROKER_CANCELLED. */
export type Say = (step: string) => void;

/** Time that a cancelled thread gets to end, ms. */
const LEAVE_MS = 2_000;
/** Maximum number of blocked threads that cancelled jobs leave behind. Each may block one of the process's few threads for files. */
const LEFT_MAX = 2;
let leftThreads = 0;

/**
 * Makes a job with its own thread. `mayLeave`: the job uses a file that may block, such as a file on a stuck mount. Nothing can end a
 * blocked thread, so a cancelled job leaves its thread behind. Errors of `run`: BROKER_BUSY while too many such threads are left.
 */
export function onThread<T extends Pick<Thread<JobMethods>, "call" | "close">>(
  start: () => Promise<T>,
  work: (thread: T, say: Say) => Promise<object>,
  { mayLeave = false } = {},
): JobWork {
  let thread: T | undefined;
  let { step } = STARTING;
  let isCancelled = false;
  const left = Promise.withResolvers<never>();
  // Prevents an unhandled rejection: a job that has ended no longer awaits this promise.
  left.promise.catch(() => {});
  const say: Say = (now) => {
    step = now;
    if (isCancelled) throw cancelled();
  };
  return {
    async run() {
      if (mayLeave && leftThreads >= LEFT_MAX)
        throw new PalaceError(
          "BROKER_BUSY",
          "cancelled jobs still wait for files that do not answer",
          "palace restart",
        );
      thread = await start();
      try {
        if (isCancelled) void thread.call("cancel").catch(() => {});
        return (await Promise.race([work(thread, say), left.promise])) as JsonObject;
      } finally {
        await (mayLeave ? leave(thread) : thread.close());
        thread = undefined;
      }
    },
    async progress() {
      const told = await thread?.call("progress");
      return told === undefined || told.step === STARTING.step ? { ...STARTING, step } : told;
    },
    cancel() {
      isCancelled = true;
      void thread?.call("cancel").catch(() => {});
      if (mayLeave) setTimeout(() => left.reject(cancelled()), LEAVE_MS).unref();
    },
  };
}

/** Ends a thread, but does not wait long for a blocked thread. */
async function leave(thread: Pick<Thread<JobMethods>, "close">): Promise<void> {
  leftThreads += 1;
  const closed = thread.close().finally(() => (leftThreads -= 1));
  await within(closed, LEAVE_MS);
}

function cancelled(): PalaceError {
  return new PalaceError("BROKER_CANCELLED", "it was cancelled; nothing was changed", "");
}

type Job = { report: JobReport; work: JobWork; params: string; ended: Promise<void> };

/** Maximum time to wait for a job's progress, because its thread may be in a long step of SQLite. */
const ANSWER_MAX_MS = 1_000;
const END_MAX_MS = 4_000;

/** Maximum number of jobs to list. The oldest are dropped. */
const KEPT_MAX = 20;

export class Jobs {
  readonly #log: Log;
  readonly #jobs: Job[] = [];
  #closing = false;

  constructor(log: Log) {
    this.#log = log;
  }

  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Starts a job, or returns the running one if it does the same work. Errors: BROKER_BUSY while another job runs. */
  start(kind: JobKind, params: object, begin: () => JobWork): JobReport {
    const asked = JSON.stringify([kind, params]);
    const running = this.#running;
    if (running?.params === asked) return running.report;
    if (running !== undefined)
      throw new PalaceError(
        "BROKER_BUSY",
        `job ${running.report.id} (${running.report.kind}) is running`,
        "palace status jobs",
      );
    if (this.#closing) throw shuttingDown();
    const work = begin();
    const report: JobReport = {
      ...{ id: randomUUID().slice(0, 8), kind, state: "running", step: "starting", done: 0, total: 0 },
      ...{ startedAtMs: Date.now(), endedAtMs: null, result: null, error: null },
    };
    const job: Job = { report, work, params: asked, ended: this.#run(report, work) };
    this.#jobs.push(job);
    this.#jobs.splice(0, Math.max(0, this.#jobs.length - KEPT_MAX));
    return report;
  }

  async list(): Promise<JobReport[]> {
    const running = this.#running;
    if (running !== undefined) {
      const progress = await within(
        running.work.progress().catch(() => undefined),
        ANSWER_MAX_MS,
      );
      if (progress !== undefined && running.report.state === "running") Object.assign(running.report, progress);
    }
    return this.#jobs.map(({ report }) => ({ ...report }));
  }

  async ended(id: string): Promise<JobReport> {
    const job = this.#find(id);
    await job.ended;
    return job.report;
  }

  /** Cancels a job and returns at once; the job ends at its next safe point. Errors: PROTOCOL_BAD_PARAMS. */
  cancel(id: string): JobReport {
    const job = this.#find(id);
    if (job.report.state === "running") job.work.cancel();
    return { ...job.report };
  }

  /** Cancels the running job and waits for its clean-up. If that takes too long, the next job of this kind cleans up. */
  async close(): Promise<void> {
    this.#closing = true;
    const running = this.#running;
    running?.work.cancel();
    await within(running?.ended, END_MAX_MS);
  }

  #find(id: string): Job {
    const job = this.#jobs.find(({ report }) => report.id === id);
    if (job !== undefined) return job;
    throw new PalaceError("PROTOCOL_BAD_PARAMS", `there is no job ${id}`, "palace status jobs");
  }

  get #running(): Job | undefined {
    return this.#jobs.find(({ report }) => report.state === "running");
  }

  async #run(report: JobReport, work: JobWork): Promise<void> {
    this.#log.info("job started", { id: report.id, kind: report.kind });
    try {
      report.result = await work.run();
      report.state = "done";
    } catch (error) {
      const known =
        error instanceof PalaceError
          ? error
          : unavailable(`${report.kind} failed: ${String(error)}`, "run `palace logs`", error);
      report.state = known.code === "BROKER_CANCELLED" ? "cancelled" : "failed";
      report.error = { message: known.message, ...known.toWire() };
    }
    report.endedAtMs = Date.now();
    this.#log.info("job ended", { id: report.id, kind: report.kind, state: report.state, why: report.error?.message });
  }
}
