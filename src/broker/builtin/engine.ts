/** The builtin engine: opens the palace and answers calls. A call fails with the reason if the palace is not open. */
import type { Config } from "../../config/config.ts";
import type { Log } from "../../base/log.ts";
import { within } from "../../base/time-limit.ts";
import { PalaceError, unavailable } from "../../base/errors.ts";
import { MINE_WAIT_MS } from "../../protocol/limits.ts";
import { createDispatch } from "../dispatch/methods.ts";
import type { Metrics } from "../dispatch/metrics.ts";
import { withSpans } from "../dispatch/traced.ts";
import { emptyPalace, type Engine, type EngineHost, type PalaceStatus, shuttingDown } from "../engine.ts";
import type { MinerCommand } from "../mine/job.ts";
import { MineJobs } from "../mine/jobs.ts";
import { readError } from "../palace/ledger.ts";
import { openPalace, type Palace } from "../palace/palace.ts";
import { keepUpstreamLock, type UpstreamLock } from "../palace/upstream-lock.ts";

export type BuiltinOptions = EngineHost & {
  config: Config;
  metrics: Metrics;
  log: Log;
  miner: MinerCommand;
  onFatal: (error: PalaceError) => void;
  /** Resolves when the broker ends, for any reason. */
  ending: Promise<unknown>;
};

const READY_MAX_MS = 30_000;
const DRAIN_MAX_MS = 8_000;

export function startBuiltinEngine(options: BuiltinOptions): Engine {
  const { config, log, metrics, status, stop, pageLink, ownFiles, miner } = options;
  const palace = new OpeningPalace(options);
  const mines = new MineJobs({
    miner,
    places: { userHome: config.model.userHome, roots: config.mineRoots },
    waitMs: MINE_WAIT_MS,
    log,
  });
  const answer = createDispatch({
    ...{ ready: () => palace.ready(), mines, status, stop, pageLink, ownFiles, metrics, log },
    typedError: (error) => readError(error, config.paths.ledgerFile),
    linkRules: () => config.filing(),
    openedRoots: config.mineRoots,
    redact: config.redact,
  });
  return {
    dispatch: withSpans(answer),
    opened: palace.opened,
    leave: (peerId) => palace.open?.logstream.leave(peerId),
    health: () => palace.health(),
    report: () => ({ kind: "builtin" }),
    status: () => palace.status(),
    failure: () => palace.failure,
    isBusy: () => palace.open?.jobs.isBusy === true,
    async drain() {
      palace.isDraining = true;
      await within(palace.opened, DRAIN_MAX_MS);
      // Ends running jobs of the tool `mine` first, while the palace still accepts their writes.
      await within(mines.close(), DRAIN_MAX_MS);
      await palace.open?.drain();
    },
    close: () => palace.end((open) => open.close()),
    abandon: () => palace.end((open) => open.abandon()),
  };
}

/** A palace that is opening or open, with MemPalace's own lock. */
class OpeningPalace {
  readonly #options: BuiltinOptions;
  readonly #upstreamLock: UpstreamLock;
  readonly opened: Promise<void>;
  open: Palace | undefined;
  failure: PalaceError | undefined;
  isDraining = false;

  constructor(options: BuiltinOptions) {
    this.#options = options;
    const { palaceDir, upstreamLocksDir: locksDir } = options.config.paths;
    const onChange = (): void => this.open?.wakeOutbox();
    this.#upstreamLock = keepUpstreamLock({ palaceDir, locksDir, log: options.log, onChange });
    this.opened = this.#open();
  }

  health(): ReturnType<Engine["health"]> {
    const { failure } = this;
    if (failure !== undefined) return { status: "failed", error: { message: failure.message, ...failure.toWire() } };
    return { status: this.open === undefined ? "opening" : "ready" };
  }

  status(): ReturnType<Engine["status"]> {
    return { ...(this.open?.status() ?? NOT_OPEN), upstreamLock: this.#upstreamLock.status() };
  }

  /** Waits until the palace is open and an existing public palace is adopted. Errors: why it is not open. */
  async ready(): Promise<Palace> {
    if (this.isDraining) throw shuttingDown();
    if (this.open === undefined && this.failure === undefined) await within(this.opened, READY_MAX_MS);
    if (this.failure !== undefined) throw this.failure;
    if (this.open === undefined) throw unavailable("the palace is still being opened", "repeat the call in a moment");
    await Promise.race([this.open.adopted(), this.#options.ending]);
    return this.open;
  }

  async end(how: (open: Palace) => Promise<void>): Promise<void> {
    try {
      await this.opened;
      if (this.open !== undefined) await how(this.open);
    } finally {
      this.#upstreamLock.release();
    }
  }

  async #open(): Promise<void> {
    const { config, log, onFatal } = this.#options;
    const startedAt = performance.now();
    try {
      this.open = await openPalace({
        ...{ config, log, upstreamLock: this.#upstreamLock },
        onFatal: (error) => {
          this.failure = error;
          log.error("the palace is lost", { code: error.code, why: error.message });
          onFatal(error);
        },
      });
      log.info("palace open", { tookMs: Math.round(performance.now() - startedAt) });
    } catch (error) {
      const why = error instanceof PalaceError ? error : notOpened(error);
      this.failure = why;
      log.error("the palace did not open", { code: why.code, why: why.message, cause: String(why.cause) });
    }
  }
}

function notOpened(cause: unknown): PalaceError {
  return unavailable(`the palace did not open: ${String(cause)}`, "run `palace logs`", cause);
}

const NOT_OPEN: PalaceStatus = {
  ...emptyPalace("the palace is not open", "loading", "looking"),
  queue: { depth: 0, depthMax: 0, acknowledged: 0, refused: 0 },
};
