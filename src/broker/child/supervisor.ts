/** Starts one child, and replaces a dead or stuck child after a growing pause. After FAILURES_MAX failures it waits for a call. */
import { join } from "node:path";
import type { CommandConfig } from "../../config/engine.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError } from "../../base/errors.ts";
import type { EngineReport } from "../../protocol/spec.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { rollBackJournals } from "./journal.ts";
import { takeChildLock } from "./lock.ts";
import { type Introduction, type Notification, Session } from "./session.ts";
import type { ToolBook } from "./tools.ts";

export type SupervisorOptions = {
  config: CommandConfig;
  /** Home folder of the palace. The broker has the folder's lifetime lock. */
  home: string;
  tools: ToolBook;
  log: Log;
  onReady: () => void;
  /** Called when no child will be ready soon; waiting calls get this error. */
  onFailed: (error: PalaceError) => void;
  onNotification: (notification: Notification) => void;
};

const PAUSE_MS = 250;
const PAUSE_MAX_MS = 30_000;
/** Number of consecutive failures (a child ended before it answered a request) after which calls fail at once instead of waiting. */
const FAILURES_PATIENT = 3;
/** Number of consecutive failures after which a child starts only on request, at most once in PAUSE_MAX_MS. */
const FAILURES_MAX = 8;
const LEAVE_MAX_MS = 3_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  #state: Exclude<EngineReport, { kind: "builtin" }>["state"] = "starting";
  #session: Session | undefined;
  #introduction: Introduction | undefined;
  #generation = 0;
  #failures = 0;
  #lastError: { error: PalaceError; atMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the next start, by the monotonic clock, so that a changed wall clock does not delay a start. */
  #nextStartMs = 0;
  #closed = false;
  #attempt: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** The child that accepts requests now. */
  get session(): Session | undefined {
    return this.#state === "ready" ? this.#session : undefined;
  }

  /** The last child's description of itself. It also describes the next child, which runs the same program. */
  get introduction(): Introduction | undefined {
    return this.#introduction;
  }

  get pid(): number | undefined {
    return this.#session?.process.pid;
  }

  get state(): Exclude<EngineReport, { kind: "builtin" }>["state"] {
    return this.#state;
  }

  get lastError(): PalaceError | undefined {
    return this.#lastError?.error;
  }

  /** Error with which calls fail instead of waiting; undefined while a child runs or will soon run. */
  get failed(): PalaceError | undefined {
    if (this.#state !== "failed") return undefined;
    const { error } = this.#lastError ?? { error: undefined };
    // A person must fix these two causes, so their errors pass unchanged.
    if (error?.code === "PALACE_LOCKED" || error?.code === "CONFIG_BAD_VALUE") return error;
    return new PalaceError(
      "ENGINE_UNAVAILABLE",
      `the engine does not stay alive (${this.#failures} times in a row): ${error?.message ?? "unknown"}`,
      error?.hint === undefined || error.hint === "run `palace logs`"
        ? "correct MEMPALACE_ENGINE or what it starts (`palace logs`), then run `palace restart`"
        : error.hint,
      { retryAfterMs: Math.max(0, Math.ceil(this.#nextStartMs - performance.now())) },
    );
  }

  /** Starts a child unless one exists or is starting, or the pause is not over. */
  wake(): void {
    if (this.#closed || this.#attempt !== undefined || this.#session !== undefined || this.#timer !== undefined) return;
    if (performance.now() < this.#nextStartMs) return;
    this.#attempt = this.#start().finally(() => (this.#attempt = undefined));
  }

  answered(): void {
    this.#failures = 0;
  }

  replace(session: Session, why: PalaceError): void {
    if (this.#session !== session || this.#state !== "ready") return;
    this.#state = "waiting";
    this.#note(why);
    this.#options.log.error("engine is stuck", { generation: session.generation, why: why.message });
    void session.process.kill();
  }

  report(): EngineReport {
    const { serverInfo } = this.#introduction ?? {};
    const { argv } = this.#options.config;
    return {
      kind: "command",
      program: argv[0],
      state: this.#state,
      pid: this.pid ?? null,
      generation: this.#generation,
      server:
        serverInfo === undefined
          ? null
          : { name: String(serverInfo["name"] ?? ""), version: String(serverInfo["version"] ?? "") },
      failures: this.#failures,
      lastError:
        this.#lastError === undefined
          ? null
          : {
              message: this.#lastError.error.message,
              ...this.#lastError.error.toWire(),
              atMs: this.#lastError.atMs,
            },
    };
  }

  /** Ends the child, and resolves when no child is left. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#session?.process.end(LEAVE_MAX_MS);
    await this.#attempt;
  }

  /** Kills the child at once, for a broker that fails. */
  abandon(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#session?.process.killNow();
  }

  async #start(): Promise<void> {
    const { config, home, log, tools, onNotification } = this.#options;
    this.#state = this.#failures >= FAILURES_PATIENT ? "failed" : "starting";
    this.#generation += 1;
    const generation = this.#generation;
    let session: Session | undefined;
    try {
      const lock = await takeChildLock(join(config.palaceDir, "engine.lock"), home, log);
      await rollBackJournals(config.palaceDir, log);
      if (this.#closed) return lock.drop();
      try {
        session = new Session({
          ...{ config, lock, generation, log },
          onNotification: (notification) => {
            if (notification.method === "notifications/tools/list_changed") void this.#refreshTools();
            onNotification(notification);
          },
          onGone: (why) => this.#onGone(generation, why),
        });
      } catch (error) {
        lock.drop();
        throw error;
      }
      this.#session = session;
      const startedAtMs = Date.now();
      const introduction = await session.introduce();
      if (this.#session !== session) return;
      this.#introduction = introduction;
      tools.replace(introduction.tools);
      this.#state = "ready";
      log.info("engine ready", {
        generation,
        pid: session.process.pid ?? 0,
        tookMs: Date.now() - startedAtMs,
        tools: introduction.tools.length,
      });
      this.#options.onReady();
    } catch (error) {
      if (session !== undefined && this.#session === session) {
        this.#note(asUnavailable(error, config.argv[0], session.process.lastWords));
        // When the child exits, the handler of its exit schedules the next child.
        await session.process.kill();
      } else if (session === undefined) {
        this.#note(asUnavailable(error, config.argv[0], ""));
        this.#schedule();
      }
    }
  }

  #onGone(generation: number, why: string): void {
    const session = this.#session;
    if (session?.generation !== generation) return;
    const wasReady = this.#state === "ready";
    this.#session = undefined;
    const words = session.process.lastWords;
    this.#options.log.warn("engine ended", { generation, why });
    if (this.#closed) return;
    const known = asUnavailable(new Error(`its process ${why}`), this.#options.config.argv[0], words);
    // Keeps the recorded reason if the handshake failed or the child was stuck.
    if (wasReady || this.#lastError === undefined || this.#lastError.atMs < session.process.startedAtMs)
      this.#note(known);
    this.#schedule();
  }

  #note(error: PalaceError): void {
    this.#lastError = { error, atMs: Date.now() };
  }

  #schedule(): void {
    this.#failures += 1;
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.#failures - 1), PAUSE_MAX_MS);
    this.#nextStartMs = performance.now() + pauseMs;
    this.#state = this.#failures >= FAILURES_PATIENT ? "failed" : "waiting";
    const { failed } = this;
    if (failed !== undefined) this.#options.onFailed(failed);
    if (this.#failures >= FAILURES_MAX) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // Ends the pause here, because a timer may fire slightly too early.
      this.#nextStartMs = 0;
      this.wake();
    }, pauseMs);
  }

  async #refreshTools(): Promise<void> {
    const session = this.#session;
    try {
      const tools = await session?.listTools();
      if (tools !== undefined && session === this.#session) this.#options.tools.replace(tools);
    } catch (error) {
      this.#options.log.warn("the engine did not list its tools", { why: String(error) });
    }
  }
}

function asUnavailable(error: unknown, program: string, lastWords: string): PalaceError {
  if (error instanceof PalaceError && !error.code.startsWith("ENGINE_")) return error;
  const hint = error instanceof RpcFailure ? (error.error.data as { hint?: unknown } | undefined)?.hint : undefined;
  const said = lastWords === "" ? "" : `; it said: ${lastWords}`;
  return new PalaceError(
    "ENGINE_UNAVAILABLE",
    `${program}: ${error instanceof Error ? error.message : String(error)}${said}`,
    typeof hint === "string" ? hint : "run `palace logs`",
    { cause: error },
  );
}
