/** Runs the tool `mine`: one mine at a time, in the background, as in upstream. A repeated call waits for the same mine. */
import type { Log } from "../../base/log.ts";
import type { Peer } from "../peer.ts";
import { finished, running } from "./answer.ts";
import { Job, type MinerCommand, type Step } from "./job.ts";
import { type MinePlaces, placeOf } from "./place.ts";
import { argumentsOf, type MineRequest, readRequest, refusal } from "./request.ts";

export type MineJobsOptions = {
  miner: MinerCommand;
  places: MinePlaces;
  /** Time after which the broker answers with the progress of a mine that still runs. */
  waitMs: number;
  log: Log;
};

/** Time that a result is kept for a repeated call. */
const RESULT_KEPT_MS = 3_600_000;

type Mine = {
  key: string;
  request: MineRequest;
  source: string;
  job: Job;
  result: Promise<object>;
  waiting: number;
  endedAtMs?: number;
};

export class MineJobs {
  readonly #options: MineJobsOptions;
  #current: Mine | undefined;
  #isClosed = false;

  constructor(options: MineJobsOptions) {
    this.#options = options;
  }

  /** Mines a source. `onStep` is called for each file until this caller has its answer. */
  async mine(
    values: Record<string, unknown>,
    peer: Peer,
    signal: AbortSignal,
    onStep: (done: number, total: number, name: string) => void,
  ): Promise<unknown> {
    const request = readRequest(values);
    if ("success" in request) return request;
    const source = placeOf(request, peer, this.#options.places);
    if (typeof source !== "string") return source;
    if (this.#isClosed) return refusal("mine exited early (the broker is shutting down)", "Interrupted");
    const key = JSON.stringify([{ ...request, source }]);
    const before = this.#current;
    const isOver = before?.endedAtMs !== undefined;
    if (before !== undefined && !isOver && before.key !== key)
      return refusal(
        `another mine is in progress: ${before.request.mode} of ${before.source}`,
        "LockHeldByOtherProcess",
      );
    const isKept = isOver && before.key === key && Date.now() - (before.endedAtMs ?? 0) < RESULT_KEPT_MS;
    const mine = before !== undefined && (!isOver || isKept) ? before : this.#start(key, request, source, peer);
    return this.#wait(mine, signal, onStep);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current?.job.stop("the broker ended");
    await this.#current?.job.end;
  }

  #start(key: string, request: MineRequest, source: string, peer: Peer): Mine {
    const { miner, log } = this.#options;
    const job = new Job(miner, argumentsOf(request, source));
    log.info("mine begun", { source, mode: request.mode, agent: peer.agent, peer: peer.id });
    const mine: Mine = {
      ...{ key, request, source, job, waiting: 0 },
      result: job.end.then((end) => {
        mine.endedAtMs = Date.now();
        const answer = finished(request, end, job.steps);
        log.info("mine over", { source, code: end.code ?? -1, why: end.ended ?? "" });
        return answer;
      }),
    };
    this.#current = mine;
    return mine;
  }

  async #wait(
    mine: Mine,
    signal: AbortSignal,
    onStep: (done: number, total: number, name: string) => void,
  ): Promise<unknown> {
    const { job } = mine;
    const { promise: cut, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), this.#options.waitMs);
    const takenBack = (): void => {
      resolve(undefined);
      // Stops the mine only if no other caller waits for it.
      if (mine.waiting === 1) job.stop("cancelled by the client");
    };
    signal.addEventListener("abort", takenBack, { once: true });
    mine.waiting += 1;
    const listener = ({ done, total, name }: Step): void => onStep(done, total, name);
    job.listeners.add(listener);
    try {
      const result = await Promise.race([mine.result, cut]);
      // The next call with these arguments starts a new mine, because a caller has got this result.
      if (result !== undefined && this.#current === mine) this.#current = undefined;
      return result ?? running(mine.request, job.steps);
    } finally {
      clearTimeout(timer);
      job.listeners.delete(listener);
      mine.waiting -= 1;
      signal.removeEventListener("abort", takenBack);
    }
  }
}
