/** Sends the outbox's records to the public palace in the background. After a crash it may send a batch again. */
import { faultPoint } from "../base/fault-point.ts";
import type { Log } from "../base/log.ts";
import type { OutboxEntry, OutboxSource, PalaceDriver } from "../memory/port/public-palace.ts";
import { badValue, PalaceError } from "../base/errors.ts";
import type { StatusReport } from "../protocol/spec.ts";

/** Time to wait for more records after a pause: a batch of many records costs little more than one record. */
const GATHER_MS = 25;
/** Interval at which the outbox is checked even if nobody calls `wake`. */
const IDLE_MS = 5_000;
/** Pause after a failure. It doubles with each failure, up to the maximum; half of it is random. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 30_000;
/** Maximum number of records that the palace may refuse. At this number the whole palace counts as failing, and sending stops. */
const REFUSED_MAX = 256;
const STOP_TIMEOUT_MS = 2_000;

/** Interval at which an idle palace is probed, because another program may have deleted or replaced it. */
const PROBE_MS = 30_000;

export type OutboxStatus = StatusReport["driver"];

export type OutboxClock = {
  now(): number;
  /** Resolves early when the signal is aborted. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a number from 0 to 1. */
  random(): number;
};

export type OutboxOptions = {
  source: OutboxSource;
  driver: PalaceDriver;
  log: Log;
  clock?: OutboxClock;
  /** Returns why the palace must not be opened or written at present; else undefined. Call `wake` when that changes. */
  lockedBy?: () => PalaceError | undefined;
  /** Called when the state or its detail changes. Must not throw. */
  onState: (status: Pick<OutboxStatus, "state" | "detail">) => void;
};

export type Outbox = {
  wake(): void;
  /** Stops sending. Resolves when the current opening or batch has ended. The returned function resumes sending. */
  hold(): Promise<() => void>;
  status(): OutboxStatus;
  /** Finishes or abandons the current batch and closes the driver, within `timeoutMs`. Idempotent. */
  stop(timeoutMs?: number): Promise<void>;
};

/** Starts the loop that sends. Errors appear only in `status` and in the log, and the loop tries again. */
export function startOutbox(options: OutboxOptions): Outbox {
  const pump = new Pump({ clock: WALL_CLOCK, lockedBy: () => undefined, ...options });
  const running = pump.run();
  let stopping: Promise<void> | undefined;
  return {
    wake: () => pump.wake(),
    hold: () => pump.hold(),
    status: () => pump.status(),
    stop: (timeoutMs = STOP_TIMEOUT_MS) => (stopping ??= pump.stop(running, timeoutMs)),
  };
}

const WALL_CLOCK: OutboxClock = {
  now: Date.now,
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
    }),
};

class Pump {
  readonly #deps: Required<OutboxOptions>;
  /**
   * Changes that the palace refused, by the record's id. The outbox sends a refused change again after the drawer has changed, after a
   * removal, to another palace, or after a restart.
   */
  readonly #refused = new Map<string, { seq: number; reason: string }>();
  readonly #stopping = new AbortController();
  #alarm = new AbortController();
  #state: "synced" | "syncing" | "waiting" | "unreachable" = "syncing";
  #detail = "opening the palace";
  #failures = 0;
  #target: string | undefined;
  /** Time of the palace's last answer; undefined if the palace must be opened again before the next batch. */
  #openedAtMs: number | undefined;
  #woken = false;
  #abandoned = false;
  #holders = 0;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(deps: Required<OutboxOptions>) {
    this.#deps = deps;
  }

  wake(): void {
    this.#woken = true;
    this.#alarm.abort();
  }

  async hold(): Promise<() => void> {
    this.#holders += 1;
    await this.#sending.catch(() => {});
    return () => {
      this.#holders -= 1;
      this.wake();
    };
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const lock = this.#deps.lockedBy();
        if (lock !== undefined) {
          await this.#leaveAlone(lock);
          continue;
        }
        await (this.#sending = this.#open());
        this.#woken = false;
        while (await (this.#sending = this.#sendNext())) this.#failures = 0;
        this.#failures = 0;
        this.#rest();
        await this.#sleep(IDLE_MS);
        if (this.#woken) await this.#deps.clock.sleep(GATHER_MS, this.#stopping.signal);
      } catch (error) {
        if (this.#stopped) return;
        await this.#fail(error);
      }
    }
  }

  async stop(running: Promise<void>, timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    this.#alarm.abort();
    const timeout = new AbortController();
    await Promise.race([running, this.#deps.clock.sleep(timeoutMs, timeout.signal)]);
    timeout.abort();
    this.#abandoned = true;
    await this.#deps.driver.close();
  }

  status(): OutboxStatus {
    const { source, driver, clock } = this.#deps;
    const { entries, oldestAtMs, awaitingVector } = source.lag();
    const lagMs = oldestAtMs === null ? 0 : Math.max(0, clock.now() - oldestAtMs);
    // New entries may be in the list before `wake` is called, so `synced` may be outdated.
    const state = this.#state === "synced" && entries > 0 ? "syncing" : this.#state;
    return { kind: driver.kind, state, lag: entries + awaitingVector, lagMs, detail: this.#detail };
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #open(): Promise<void> {
    const { driver, source, clock } = this.#deps;
    if (this.#openedAtMs !== undefined && clock.now() - this.#openedAtMs < PROBE_MS) return;
    await driver.open();
    this.#openedAtMs = clock.now();
    // A driver knows only after opening whether the palace was replaced.
    if (driver.target === this.#target || this.#stopped) return;
    await source.retarget(driver.target);
    this.#target = driver.target;
    this.#refused.clear();
  }

  /** Waits while another process has the palace's lock. The next opening of the driver checks that process's changes. */
  async #leaveAlone(lock: PalaceError): Promise<void> {
    this.#openedAtMs = undefined;
    this.#enter("waiting", lock.message);
    this.#woken = false;
    await this.#sleep(IDLE_MS);
  }

  /** Sends one batch. Returns false if nothing can be sent at present. */
  async #sendNext(): Promise<boolean> {
    const { source, driver, clock } = this.#deps;
    if (this.#stopped || this.#holders > 0) return false;
    if (this.#deps.lockedBy() !== undefined) {
      // Makes the next batch open the palace again, because opening checks the changes of other programs.
      this.#openedAtMs = undefined;
      return false;
    }
    const batch = this.#nextBatch(source.peek(driver.recordsMax + this.#refused.size));
    if (batch.length === 0) return false;
    this.#enter("syncing", "");
    faultPoint("outbox.before-send");
    const arrived = await this.#send(batch);
    faultPoint("outbox.after-send");
    if (this.#abandoned) return false;
    this.#openedAtMs = clock.now();
    if (arrived.length > 0) await source.done(arrived.map(({ id, seq }) => ({ id, seq })));
    // After a removal the palace may accept records that it refused because of a quota.
    if (arrived[0]?.record === null) this.#refused.clear();
    faultPoint("outbox.after-done");
    return true;
  }

  /** Returns the next entries for one call to the driver: only writes or only removals, and each id once. */
  #nextBatch(entries: readonly OutboxEntry[]): OutboxEntry[] {
    const listed = new Map(entries.map(({ id, seq }) => [id, seq]));
    for (const [id, { seq }] of this.#refused) if (listed.get(id) !== seq) this.#refused.delete(id);
    if (this.#refused.size >= REFUSED_MAX)
      throw badValue(`the palace refuses every record: ${this.#firstRefusal()}`, "");
    const batch = new Map<string, OutboxEntry>();
    let removes: boolean | undefined;
    for (const entry of entries) {
      if (this.#refused.has(entry.id)) continue;
      removes ??= entry.record === null;
      const fits = (entry.record === null) === removes && !batch.has(entry.id);
      if (!fits || batch.size === this.#deps.driver.recordsMax) break;
      batch.set(entry.id, entry);
    }
    return [...batch.values()];
  }

  /** Sends a batch and returns the accepted entries. Halves a refused batch until each refused record is alone. Errors: the driver's. */
  async #send(batch: readonly OutboxEntry[]): Promise<OutboxEntry[]> {
    const { driver } = this.#deps;
    const records = batch.flatMap(({ record }) => record ?? []);
    try {
      if (records.length > 0) await driver.upsert(records);
      else await driver.remove(batch.map(({ id }) => id));
      return [...batch];
    } catch (error) {
      if (!(error instanceof PalaceError) || error.code !== "CONFIG_BAD_VALUE") throw error;
      const [only] = batch;
      if (only !== undefined && batch.length === 1) {
        this.#refuse(only, error);
        return [];
      }
      const half = Math.ceil(batch.length / 2);
      return [...(await this.#send(batch.slice(0, half))), ...(await this.#send(batch.slice(half)))];
    }
  }

  #refuse({ id, seq }: OutboxEntry, error: PalaceError): void {
    this.#refused.set(id, { seq, reason: error.message });
    this.#deps.log.error("outbox.refused", { id, code: error.code, message: error.message });
  }

  #firstRefusal(): string {
    for (const [id, { reason }] of this.#refused) return `${id}: ${reason}`;
    return "";
  }

  #rest(): void {
    if (this.#stopped || this.#deps.lockedBy() !== undefined) return;
    const { awaitingVector } = this.#deps.source.lag();
    if (this.#refused.size > 0)
      this.#enter("waiting", `the palace refuses ${this.#refused.size} drawers, first ${this.#firstRefusal()}`);
    else if (awaitingVector > 0)
      this.#enter(
        "waiting",
        awaitingVector === 1 ? "1 drawer waits for its vector" : `${awaitingVector} drawers wait for their vectors`,
      );
    else this.#enter("synced", "");
  }

  async #fail(error: unknown): Promise<void> {
    const { clock, log } = this.#deps;
    const message = error instanceof Error ? error.message : String(error);
    const code = error instanceof PalaceError ? error.code : "";
    this.#failures += 1;
    this.#openedAtMs = undefined;
    const longestMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures, 16));
    const retryMs = Math.max(RETRY_MIN_MS, Math.round(longestMs * (0.5 + clock.random() / 2)));
    // A palace with another model's vectors does not change by itself, so only the first failure is logged.
    const isForeign = error instanceof PalaceError && error.code === "STORE_MODEL_MISMATCH";
    this.#enter(isForeign ? "waiting" : "unreachable", isForeign ? `${message}; ${error.hint}` : message);
    if (!isForeign || this.#failures === 1)
      (code === "" ? log.error : log.warn)("outbox.failed", { code, message, failures: this.#failures, retryMs });
    // Ignores earlier wake-ups, so that a busy broker does not retry a failing palace all the time.
    this.#woken = false;
    await clock.sleep(RETRY_MIN_MS, this.#stopping.signal);
    await this.#sleep(retryMs - RETRY_MIN_MS);
  }

  async #sleep(ms: number): Promise<void> {
    this.#alarm = new AbortController();
    if (this.#woken || this.#stopped || ms <= 0) return;
    await this.#deps.clock.sleep(ms, this.#alarm.signal);
  }

  #enter(state: "synced" | "syncing" | "waiting" | "unreachable", detail: string): void {
    if (state === this.#state && detail === this.#detail) return;
    this.#state = state;
    this.#detail = detail;
    this.#deps.onState({ state, detail });
  }
}
