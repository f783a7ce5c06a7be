/**
 * A broker's life on one page: lock, door, broker.json, palace, then wait for one of its endings (signal, request, idle,
 * failure), drain, leave. Called by bin/mempalace-broker.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config/config.ts";
import { writeFileAtomic } from "../platform/atomic-file.ts";
import { peerCredentials } from "../platform/libc.ts";
import type { Log } from "../platform/log.ts";
import { vanishedPalace } from "../platform/marks.ts";
import { VERSION } from "../platform/version.ts";
import { PalaceError } from "../protocol/errors.ts";
import type { BrokerFile, Health, StatusReport } from "../protocol/spec.ts";
import { PROTOCOL } from "../protocol/version.ts";
import { type OpenDoor, openDoor, type Route } from "./door.ts";
import { takeLock } from "./lock.ts";
import { createDispatch } from "./methods.ts";
import { Metrics } from "./metrics.ts";
import { openPalace, type Palace } from "./palace.ts";

export type LifecycleOptions = {
  config: Config;
  log: Log;
  /** Called once the door answers. */
  onListening: () => void;
  /** Asked after the lock is taken: true = somebody stopped the broker meanwhile, leave again. */
  mustStayAway: () => boolean;
  /** True: a palace that existed and vanished may be begun anew, empty. */
  startAnew: boolean;
};

/** Response header of the upgrade; client/discover.ts reads it. */
const INSTANCE_HEADER = "palace-instance";
const READY_MAX_MS = 30_000;
const WATCH_MS = 1_000;
const DRAIN_MAX_MS = 8_000;

type Ending = { why: string; failed: boolean };

/** The exit code of a broker that lived, or who holds the palace's lock. Errors: PALACE_GONE, STORE_READ_ONLY. */
export async function runBroker(options: LifecycleOptions): Promise<number | { heldBy: string }> {
  const { config, log, onListening, mustStayAway, startAnew } = options;
  const { paths } = config;
  const gone = startAnew ? undefined : vanishedPalace(paths);
  if (gone !== undefined) throw gone;
  const lock = takeLock(paths.lockFile);
  if ("heldBy" in lock) return lock;
  if (mustStayAway()) return 0;

  const instanceId = randomUUID();
  const startedAtMs = Date.now();
  const ending = Promise.withResolvers<Ending>();
  const metrics = new Metrics();
  let state: Health["status"] = "opening";
  let palace: Palace | undefined;
  let failure: PalaceError | undefined;
  let door: OpenDoor | undefined;
  let idleSinceMs = Date.now();

  const opening = openPalace({
    config,
    log,
    onFatal: (error) => {
      failure = error;
      state = "failed";
      log.error("the palace is lost", { code: error.code, why: error.message });
      ending.resolve({ why: error.code, failed: true });
    },
  });
  const opened = opening.then(
    (open) => {
      palace = open;
      if (state === "opening") state = "ready";
      log.info("palace open", { tookMs: Date.now() - startedAtMs });
    },
    (error: unknown) => {
      failure =
        error instanceof PalaceError
          ? error
          : new PalaceError("STORE_UNAVAILABLE", `the palace did not open: ${String(error)}`, "run `palace logs`", {
              cause: error,
            });
      state = "failed";
      log.error("the palace did not open", { code: failure.code, why: failure.message, cause: String(failure.cause) });
    },
  );

  const ready = async (): Promise<Palace> => {
    if (state === "draining")
      throw new PalaceError("BROKER_SHUTTING_DOWN", "the broker is shutting down", "repeat the call", {
        retryAfterMs: 200,
      });
    if (palace === undefined && failure === undefined) await within(opened, READY_MAX_MS);
    if (failure !== undefined) throw failure;
    if (palace === undefined)
      throw new PalaceError("STORE_UNAVAILABLE", "the palace is still being opened", "repeat the call in a moment");
    return palace;
  };
  const broken = (): Pick<Health, "error"> =>
    failure === undefined ? {} : { error: { message: failure.message, ...failure.toWire() } };
  const status = (): StatusReport => ({
    version: VERSION,
    instanceId,
    pid: process.pid,
    startedAtMs,
    topology: config.topology,
    doors: [{ kind: "unix", path: paths.socketPath }],
    home: paths.home,
    state,
    ...broken(),
    peers: door?.peers() ?? 0,
    ...(palace?.status() ?? NOT_OPEN),
  });
  const health = (): Health => ({
    status: state,
    instanceId,
    version: VERSION,
    protocol: PROTOCOL,
    topology: config.topology,
    door: "unix",
    startedAtMs,
    ...broken(),
  });

  const dispatch = createDispatch({
    ready,
    status,
    stop: () => ending.resolve({ why: "stop", failed: false }),
    metrics,
    log,
  });
  let mcpHttp: Promise<Route> | undefined;
  const routes = new Map<string, Route>([
    ["/health", (_request, response) => sendJson(response, 200, health())],
    [
      "/ready",
      (_request, response) =>
        sendJson(response, state === "ready" ? 200 : 503, { ready: state === "ready", status: state, ...broken() }),
    ],
    [
      "/metrics",
      (_request, response) =>
        void response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(metrics.render(status())),
    ],
    [
      "/mcp",
      async (request: IncomingMessage, response: ServerResponse, peer) => {
        mcpHttp ??= import("./mcp-http.ts").then(({ createMcpHttp }) => createMcpHttp(dispatch));
        await (
          await mcpHttp
        )(request, response, peer);
      },
    ],
  ]);
  try {
    door = await openDoor({
      socketPath: paths.socketPath,
      instanceHeader: [INSTANCE_HEADER, instanceId],
      dispatch,
      routes,
      credentials: peerCredentials,
      onPeers: () => (idleSinceMs = Date.now()),
      log,
    });
    publish(config, { instanceId, startedAtMs });
  } catch (error) {
    await opened;
    await (palace as Palace | undefined)?.close();
    await door?.close();
    throw error;
  }
  onListening();
  log.info("listening", { socket: paths.socketPath, home: paths.home, pid: process.pid, version: VERSION });

  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => ending.resolve({ why: signal, failed: false }));
  // Our own bugs end the broker in order: what is acknowledged is committed, the next one starts from there.
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      log.error("broken invariant", { why: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      ending.resolve({ why: event, failed: true });
    });
  }
  const watch = setInterval(() => {
    if (!lock.isHeld()) ending.resolve({ why: "the lock file is gone", failed: true });
    const isIdle = door?.peers() === 0 && config.idleExitMs > 0 && Date.now() - idleSinceMs > config.idleExitMs;
    if (isIdle) ending.resolve({ why: "idle", failed: false });
  }, WATCH_MS);

  const { why, failed } = await ending.promise;
  clearInterval(watch);
  log.info("draining", { why });
  state = "draining";
  await within(opened, DRAIN_MAX_MS);
  await within((palace as Palace | undefined)?.queue.drain(), DRAIN_MAX_MS);
  await within(door.close(), DRAIN_MAX_MS);
  await within(
    failed ? (palace as Palace | undefined)?.abandon() : (palace as Palace | undefined)?.close(),
    DRAIN_MAX_MS,
  );
  unpublish(config, instanceId);
  log.info("ended", { why });
  return failed ? (failure?.exitCode ?? 70) : 0;
}

const NOT_OPEN: ReturnType<Palace["status"]> = {
  drawers: 0,
  wings: 0,
  ledgerSizeBytes: 0,
  queue: { depth: 0, depthMax: 0, acknowledged: 0, refused: 0 },
  search: {
    mode: "lexical",
    vectors: "local",
    model: null,
    modelState: "loading",
    modelDetail: "the palace is not open",
    embedded: 0,
    pending: 0,
  },
  driver: { kind: "none", state: "off", lag: 0, lagMs: 0, detail: "the palace is not open" },
};

function publish({ paths }: Config, { instanceId, startedAtMs }: { instanceId: string; startedAtMs: number }): void {
  const file: BrokerFile = {
    schema: 1,
    instanceId,
    version: VERSION,
    protocol: PROTOCOL,
    pid: process.pid,
    bootId: bootId(),
    startedAtMs,
    doors: [{ kind: "unix", path: paths.socketPath }],
  };
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  writeFileAtomic(paths.brokerFile, `${JSON.stringify(file)}\n`);
}

/** Only our own file: a broker started since may have written its. */
function unpublish({ paths }: Config, instanceId: string): void {
  try {
    const file = JSON.parse(readFileSync(paths.brokerFile, "utf8")) as BrokerFile;
    if (file.instanceId === instanceId) rmSync(paths.brokerFile, { force: true });
  } catch {
    // Gone already, with its folder perhaps.
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}

function sendJson(response: ServerResponse, code: number, value: unknown): void {
  const body = `${JSON.stringify(value)}\n`;
  response.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

async function within<T>(work: Promise<T> | undefined, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)))]);
  clearTimeout(timer);
}
