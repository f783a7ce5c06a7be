/** Runs a broker: takes the lock, makes the engine, opens the doors, writes broker.json, waits for a reason to end, and drains. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { finishRestore } from "../../memory/backup/swap.ts";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../base/log.ts";
import { isDiskFull, recallEngine, rememberEngine, vanishedPalace } from "../../base/state-files.ts";
import { VERSION } from "../../base/version.ts";
import { within } from "../../base/time-limit.ts";
import { tracerInUse, useTracer } from "../../base/trace.ts";
import { INSTANCE_HEADER } from "../../protocol/headers.ts";
import type { BrokerFile, Door, DoorName, Health, StatusReport } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import { startBuiltinEngine } from "../builtin/engine.ts";
import { ChildEngine } from "../child/engine.ts";
import { Metrics } from "../dispatch/metrics.ts";
import { Held } from "../door/held.ts";
import type { Engine, EngineHost } from "../engine.ts";
import type { MinerCommand } from "../mine/job.ts";
import { Doors } from "./doors.ts";
import { ownFiles } from "./own-files.ts";
import { type LifetimeLock, takeLock } from "./lock.ts";
import { createRoutes } from "./routes.ts";
import { readRecord } from "../../base/parse-json.ts";
import { overwriteFile, replaceFile } from "../../base/atomic-file.ts";
import { bootId } from "../../base/uptime.ts";

export type LifecycleOptions = {
  config: Config;
  log: Log;
  onListening: () => void;
  /** Returns why this broker must end; undefined if it may run. Called after the lock is taken, and then every second. */
  mustStayAway: () => string | undefined;
  miner: MinerCommand;
  /** True for a broker that a client started on demand: such a broker ends when a permanent broker asks for the palace. */
  isOnDemand: boolean;
  /** True if the broker may start with an empty palace when the old one has vanished. */
  startAnew: boolean;
};

const WATCH_MS = 1_000;
/** Time limit of each step of the shutdown. The container's grace period is longer than all steps together. */
const DRAIN_MAX_MS = 8_000;
/** Time limit of the engine's drain, which has three steps. The engine limits each step itself. */
const ENGINE_DRAIN_MAX_MS = 3 * DRAIN_MAX_MS;
/** Time for the last spans to reach their collector. */
const TRACES_MAX_MS = 1_000;

type Ending = { why: string; failed: boolean };
type EngineConfig = NonNullable<Config["engine"]>;

/** Runs a broker to its end and returns its exit code, or the holder of the palace's lock. Errors: PALACE_GONE, STORE_READ_ONLY. */
export async function runBroker(options: LifecycleOptions): Promise<number | { heldBy: string }> {
  const { config, log, mustStayAway, startAnew } = options;
  const { paths } = config;
  const engineConfig = config.engine ?? config.parseEngine(recallEngine(paths));
  // Only the builtin engine has a ledger, so only its palace can count as vanished.
  const gone = startAnew || engineConfig.kind === "command" ? undefined : vanishedPalace(paths);
  if (gone !== undefined) throw gone;
  const lock = takeLock(paths.lockFile, options.isOnDemand);
  if ("heldBy" in lock) return lock;
  if (mustStayAway() !== undefined) return 0;
  const restored = finishRestore(paths);
  if (restored !== undefined)
    log.info("an interrupted restore was finished", { file: restored.file, aside: `before-restore-${restored.stamp}` });
  rmSync(paths.wantedFile, { force: true });
  if (config.engine !== undefined)
    rememberEngine(paths, engineConfig.kind === "command" ? engineConfig.text : undefined);

  await startTracing(config, log);
  const broker = new Broker(options, engineConfig);
  // Must come before broker.json names this process, because a reader of that file may send SIGTERM at once.
  broker.endOnSignals();
  try {
    await broker.open();
  } catch (error) {
    await broker.closeUnopened();
    throw error;
  }
  options.onListening();
  const stopWatching = broker.watchForEnding(lock);
  log.info("listening", { socket: paths.socketPath, home: paths.home, pid: process.pid, version: VERSION });
  const ending = await broker.ending.promise;
  stopWatching();
  return broker.leave(ending);
}

/** Loads the tracer if the environment names a collector. After a failure the broker runs without traces. */
async function startTracing({ tracing }: Config, log: Log): Promise<void> {
  if (tracing === "off") return;
  if (tracing === "grpc")
    return log.warn("traces are off", { why: "OTEL_EXPORTER_OTLP_PROTOCOL is grpc", hint: "use http/json" });
  try {
    const { openTelemetry } = await import("../../base/open-telemetry.ts");
    const onChange = (why: string | undefined): void =>
      why === undefined ? log.info("traces are accepted again") : log.warn("traces are not accepted", { why });
    useTracer(openTelemetry({ service: "palace-broker", onChange }));
  } catch (error) {
    log.warn("traces are off", { why: String(error) });
  }
}

class Broker {
  readonly ending = Promise.withResolvers<Ending>();
  readonly #options: LifecycleOptions;
  readonly #instanceId = randomUUID();
  readonly #startedAtMs = Date.now();
  readonly #metrics: Metrics;
  readonly #engine: Engine;
  readonly #doors: Doors;
  #isDraining = false;

  constructor(options: LifecycleOptions, engineConfig: EngineConfig) {
    const { config, log } = options;
    this.#options = options;
    const metrics = (this.#metrics = new Metrics(config.paths.usageFile));
    this.#engine = this.#startEngine(engineConfig, metrics);
    const { dispatch } = this.#engine;
    const held = new Held(log);
    const routes = createRoutes({
      ...{ engine: this.#engine, held, metrics, roampalSettings: config.roampalSettings },
      health: (door) => this.#health(door),
      status: () => this.#status(),
    });
    this.#doors = new Doors({
      ...{ config, log, dispatch, routes, held, status: () => this.#status() },
      instanceHeader: [INSTANCE_HEADER, this.#instanceId],
      onLeft: (peerId) => this.#engine.leave(peerId),
    });
  }

  async open(): Promise<void> {
    await this.#doors.openAll();
    publish(this.#options.config, {
      instanceId: this.#instanceId,
      startedAtMs: this.#startedAtMs,
      doors: this.#doors.published,
    });
  }

  /** Closes everything after a door could not be opened. Drains nothing, because no client knows this broker yet. */
  async closeUnopened(): Promise<void> {
    await this.#engine.opened;
    await this.#engine.close();
    await this.#doors.close();
  }

  /** Ends the broker on SIGTERM and SIGINT. If the signal comes during the opening, the broker first finishes the opening. */
  endOnSignals(): void {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => this.#end(signal));
  }

  /** Watches for reasons to end; returns a function that ends the watch. The handlers of uncaught errors stay until the process exits. */
  watchForEnding(lock: LifetimeLock): () => void {
    const { mustStayAway, log } = this.#options;
    const leaveIfUnwanted = (): void => {
      const why = mustStayAway();
      if (why !== undefined) this.#end(why);
    };
    leaveIfUnwanted();
    this.#doors.lastUsedMs = performance.now();
    // After an uncaught error the broker drains and ends: acknowledged writes are committed, and the next broker has them.
    for (const event of ["uncaughtException", "unhandledRejection"] as const) {
      process.on(event, (error: unknown) => {
        log.error("broken invariant", { why: error instanceof Error ? (error.stack ?? error.message) : String(error) });
        this.#end(event, true);
      });
    }
    const timer = setInterval(() => {
      leaveIfUnwanted();
      if (!lock.isHeld()) this.#end("the lock file is gone", true);
      if (this.#isIdle()) this.#end("idle");
    }, WATCH_MS);
    return () => clearInterval(timer);
  }

  async leave({ why, failed }: Ending): Promise<number> {
    const { config, log } = this.#options;
    log.info("draining", { why });
    this.#isDraining = true;
    await within(this.#engine.drain(), ENGINE_DRAIN_MAX_MS);
    await within(this.#doors.close(), DRAIN_MAX_MS);
    await within(failed ? this.#engine.abandon() : this.#engine.close(), DRAIN_MAX_MS);
    await within(this.#metrics.usage.close(), DRAIN_MAX_MS);
    await tracerInUse()?.close(TRACES_MAX_MS);
    unpublish(config, this.#instanceId);
    log.info("ended", { why });
    return failed ? (this.#engine.failure()?.exitCode ?? 70) : 0;
  }

  #startEngine(engineConfig: EngineConfig, metrics: Metrics): Engine {
    const { config, log, miner } = this.#options;
    const host: EngineHost = {
      status: () => this.#status(),
      stop: () => this.#end("stop"),
      pageLink: (peer, role) => this.#doors.page.link(peer, role),
      ownFiles: ownFiles({
        ...{ paths: config.paths, dispatch: (...message) => this.#engine.dispatch(...message) },
        usedAtMs: (id) => this.#doors.tokenUsedAtMs(id),
      }),
    };
    if (engineConfig.kind === "command")
      return new ChildEngine({ ...{ config: engineConfig, home: config.paths.home, log, metrics }, ...host });
    const onFatal = ({ code }: { code: string }): void => this.#end(code, true);
    return startBuiltinEngine({ ...{ config, log, metrics, miner, onFatal, ending: this.ending.promise }, ...host });
  }

  #end(why: string, failed = false): void {
    this.ending.resolve({ why, failed });
  }

  #isIdle(): boolean {
    const { idleExitMs } = this.#options.config;
    const { isSocketOnly, lastUsedMs } = this.#doors;
    if (idleExitMs <= 0 || !isSocketOnly || this.#doors.peers() > 0 || this.#engine.isBusy()) return false;
    return performance.now() - lastUsedMs > idleExitMs;
  }

  #now(): Pick<Health, "status" | "error"> {
    const now = this.#engine.health();
    return this.#isDraining ? { ...now, status: "draining" } : now;
  }

  #health(door: DoorName): Health {
    const { topology } = this.#options.config;
    const [instanceId, startedAtMs] = [this.#instanceId, this.#startedAtMs];
    const engine = this.#engine.report();
    const clock = { startedAtMs, nowMs: Date.now() };
    return { instanceId, version: VERSION, protocol: PROTOCOL, topology, door, ...clock, engine, ...this.#now() };
  }

  #status(): StatusReport {
    const { paths, topology, settings } = this.#options.config;
    const { status: state, ...error } = this.#now();
    const outcomeDoor = this.#doors.outcomeDoor();
    return {
      version: VERSION,
      instanceId: this.#instanceId,
      pid: process.pid,
      startedAtMs: this.#startedAtMs,
      topology,
      doors: this.#doors.published,
      home: paths.home,
      settings: settings.told().filter(({ takesEffect }) => takesEffect === "start"),
      state,
      ...error,
      engine: this.#engine.report(),
      peers: this.#doors.peers(),
      ...(outcomeDoor !== undefined && { outcomeDoor }),
      usage: this.#metrics.usage.sums(),
      ...this.#engine.status(),
    };
  }
}

function publish(
  { paths }: Config,
  { instanceId, startedAtMs, doors }: { instanceId: string; startedAtMs: number; doors: Door[] },
): void {
  const file: BrokerFile = {
    schema: 1,
    instanceId,
    version: VERSION,
    protocol: PROTOCOL,
    pid: process.pid,
    bootId: bootId(),
    startedAtMs,
    doors,
    home: paths.home,
    gate: paths.gatePath,
  };
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(file)}\n`;
  try {
    replaceFile(paths.brokerFile, text);
  } catch (error) {
    if (!isDiskFull(error) || !existsSync(paths.brokerFile)) throw error;
    // A dead broker has left its file. Overwriting that file works even on a full disk.
    overwriteFile(paths.brokerFile, text);
  }
}

/** Removes this broker's file. Leaves the file of a later broker. */
function unpublish({ paths }: Config, instanceId: string): void {
  try {
    if (readRecord(paths.brokerFile)["instanceId"] === instanceId) rmSync(paths.brokerFile, { force: true });
  } catch {
    // The file is already gone, perhaps with its folder.
  }
}
