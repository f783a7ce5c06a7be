/**
 * A broker's life on one page: lock, door, broker.json, palace, then wait for one of its endings (signal, request, idle,
 * failure), drain, leave. Called by bin/mempalace-broker.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../../config/config.ts";
import { writeFileAtomic } from "../../platform/atomic-file.ts";
import { peerCredentials } from "../../platform/libc.ts";
import type { Log } from "../../platform/log.ts";
import { recallEngine, rememberEngine, vanishedPalace } from "../../platform/marks.ts";
import { VERSION } from "../../platform/version.ts";
import { within } from "../../platform/within.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { MINE_WAIT_MS } from "../../protocol/limits.ts";
import type { BrokerFile, Door, DoorName, EngineReport, Health, StatusReport } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import { type ChildEngine, startChildEngine } from "../child/engine.ts";
import { createDispatch } from "../dispatch/methods.ts";
import { Metrics } from "../dispatch/metrics.ts";
import { type DoorOptions, type OpenDoor, openDoor, type Route } from "../door/door.ts";
import { Guard } from "../door/guard.ts";
import { isLoopback, recallAddress, rememberAddress, resolveListenHost } from "../door/listen.ts";
import { TokenBook } from "../door/tokens.ts";
import type { MinerCommand } from "../mine/job.ts";
import { MineJobs } from "../mine/jobs.ts";
import { openPalace, type Palace, type PalaceStatus } from "../palace/palace.ts";
import { keepUpstreamLock, type UpstreamLock } from "../palace/upstream-lock.ts";
import { takeLock } from "./lock.ts";

export type LifecycleOptions = {
  config: Config;
  log: Log;
  /** Called once the door answers. */
  onListening: () => void;
  /** Asked after the lock is taken and every second from then on: why this broker must leave (again), if it must. */
  mustStayAway: () => string | undefined;
  /** What mines for the tool `mine`. */
  miner: MinerCommand;
  /** Started by a client that needed one: makes way for one that is meant to stay. */
  isOnDemand: boolean;
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
  const engine = config.engine ?? config.parseEngine(recallEngine(paths));
  // A ledger is the builtin engine's.
  const gone = startAnew || engine.kind === "command" ? undefined : vanishedPalace(paths);
  if (gone !== undefined) throw gone;
  const lock = takeLock(paths.lockFile, options.isOnDemand);
  if ("heldBy" in lock) return lock;
  if (mustStayAway() !== undefined) return 0;
  rmSync(paths.wantedFile, { force: true });
  if (config.engine !== undefined) rememberEngine(paths, engine.kind === "command" ? engine.text : undefined);

  const instanceId = randomUUID();
  const startedAtMs = Date.now();
  const ending = Promise.withResolvers<Ending>();
  const metrics = new Metrics();
  const doors: Door[] = [];
  let state: Health["status"] = "opening";
  let palace: Palace | undefined;
  let failure: PalaceError | undefined;
  const open: OpenDoor[] = [];
  const peers = (): number => open.reduce((total, door) => total + door.peers(), 0);
  let idleSinceMs = Date.now();

  // A child MCP server takes that lock itself.
  const ownLock = (): UpstreamLock =>
    keepUpstreamLock({
      palaceDir: paths.palaceDir,
      locksDir: paths.upstreamLocksDir,
      log,
      onChange: () => palace?.wakeOutbox(),
    });
  const upstreamLock = engine.kind === "command" ? undefined : ownLock();
  const child: ChildEngine | undefined =
    engine.kind === "command"
      ? startChildEngine({
          ...{ config: engine, home: paths.home, log, metrics },
          status: () => status(),
          stop: () => ending.resolve({ why: "stop", failed: false }),
        })
      : undefined;
  const openOwn = (lock: UpstreamLock): Promise<Palace> =>
    openPalace({
      config,
      upstreamLock: lock,
      log,
      onFatal: (error) => {
        failure = error;
        state = "failed";
        log.error("the palace is lost", { code: error.code, why: error.message });
        ending.resolve({ why: error.code, failed: true });
      },
    });
  const opened = (upstreamLock === undefined ? Promise.resolve(undefined) : openOwn(upstreamLock)).then(
    (open) => {
      if (open === undefined) return;
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
    await Promise.race([palace.arrived(), ending.promise]);
    return palace;
  };
  const broken = (): Pick<Health, "error"> =>
    failure === undefined ? {} : { error: { message: failure.message, ...failure.toWire() } };
  const now = (): Pick<Health, "status" | "error"> =>
    child === undefined || state === "draining" ? { status: state, ...broken() } : child.health();
  const engineReport = (): EngineReport => child?.report() ?? { kind: "builtin" };
  const status = (): StatusReport => ({
    version: VERSION,
    instanceId,
    pid: process.pid,
    startedAtMs,
    topology: config.topology,
    doors,
    home: paths.home,
    state: now().status,
    ...withoutStatus(now()),
    engine: engineReport(),
    peers: peers(),
    upstreamLock: upstreamLock?.status() ?? { state: "none", detail: "the engine's own" },
    ...(child?.status() ?? palace?.status() ?? NOT_OPEN),
  });
  const health = (door: DoorName): Health => ({
    instanceId,
    version: VERSION,
    protocol: PROTOCOL,
    topology: config.topology,
    door,
    startedAtMs,
    engine: engineReport(),
    ...now(),
  });

  const mines = new MineJobs({
    miner: options.miner,
    places: { userHome: config.model.userHome, roots: config.mineRoots },
    waitMs: MINE_WAIT_MS,
    log,
  });
  const dispatch =
    child?.dispatch ??
    createDispatch({
      ...{ ready, mines, status },
      stop: () => ending.resolve({ why: "stop", failed: false }),
      linkRules: () => config.filing(),
      redact: config.redact,
      metrics,
      log,
    });
  let mcpHttp: Promise<Route> | undefined;
  const routes = new Map<string, Route>([
    ["/health", (_request, response, peer) => sendJson(response, 200, health(peer.door))],
    [
      "/ready",
      (_request, response) => {
        const current = now();
        const ready = current.status === "ready";
        sendJson(response, ready ? 200 : 503, { ready, engine: engineReport(), ...current });
      },
    ],
    [
      "/metrics",
      (_request, response) =>
        void response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(metrics.render(status())),
    ],
    [
      "/mcp",
      async (request: IncomingMessage, response: ServerResponse, peer) => {
        mcpHttp ??= import("../door/mcp-http.ts").then(({ createMcpHttp }) => createMcpHttp(dispatch, child?.identity));
        await (
          await mcpHttp
        )(request, response, peer);
      },
    ],
  ]);
  try {
    const openAt = async (door: Door): Promise<void> => {
      await openPlace(placeOf(config, door, log));
      doors.push(door);
    };
    const openPlace = async (at: DoorOptions["at"]): Promise<void> => {
      const onPeers = (): void => void (idleSinceMs = Date.now());
      const onLeft = (peerId: number): void => child?.leave(peerId);
      const instanceHeader: [string, string] = [INSTANCE_HEADER, instanceId];
      open.push(await openDoor({ at, instanceHeader, dispatch, routes, onPeers, onLeft, log }));
    };
    await openAt({ kind: "unix", path: paths.socketPath });
    // Not in broker.json: `palace gate` alone leads there, for keys of other machines.
    await openPlace({
      kind: "unix",
      path: paths.gatePath,
      role: "agent",
      name: "gate",
      credentials: peerCredentials,
    });
    await openTcp(config, openAt, log);
    publish(config, { instanceId, startedAtMs, doors });
  } catch (error) {
    await opened;
    await (child ?? (palace as Palace | undefined))?.close();
    await Promise.all(open.map((door) => door.close()));
    throw error;
  }
  onListening();
  const leaveIfUnwanted = (): void => {
    const why = mustStayAway();
    if (why !== undefined) ending.resolve({ why, failed: false });
  };
  leaveIfUnwanted();
  idleSinceMs = Date.now();
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
    leaveIfUnwanted();
    if (!lock.isHeld()) ending.resolve({ why: "the lock file is gone", failed: true });
    // Clients behind a TCP door cannot start the next broker.
    const isIdle =
      doors.length === 1 &&
      peers() === 0 &&
      palace?.jobs.isBusy !== true &&
      config.idleExitMs > 0 &&
      Date.now() - idleSinceMs > config.idleExitMs;
    if (isIdle) ending.resolve({ why: "idle", failed: false });
  }, WATCH_MS);

  const { why, failed } = await ending.promise;
  clearInterval(watch);
  log.info("draining", { why });
  state = "draining";
  await within(opened, DRAIN_MAX_MS);
  // While its writes are still taken.
  await within(mines.close(), DRAIN_MAX_MS);
  const served = child ?? (palace as Palace | undefined);
  await within(served?.drain(), DRAIN_MAX_MS);
  await within(Promise.all(open.map((door) => door.close())), DRAIN_MAX_MS);
  await within(failed ? served?.abandon() : served?.close(), DRAIN_MAX_MS);
  upstreamLock?.release();
  unpublish(config, instanceId);
  log.info("ended", { why });
  return failed ? (failure?.exitCode ?? 70) : 0;
}

function withoutStatus({ status: _status, ...rest }: Pick<Health, "status" | "error">): Pick<Health, "error"> {
  return rest;
}

const NOT_OPEN: PalaceStatus = {
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
  graph: { facts: 0, state: "off", lag: 0, takenOver: 0, detail: "the palace is not open" },
  strays: {
    ...{ state: "looking", detail: "the palace is not open" },
    ...{ rows: 0, collections: [], newestAtMs: null, changed: 0, resent: 0, unindexed: 0, taken: 0 },
  },
  closets: { count: 0, pending: 0, lag: 0 },
  adoption: { state: "none", rows: 0, read: 0, taken: 0, atMs: null, detail: "", hint: "" },
};

/** The TCP door that was asked for, which must open, or that of the last time, whose failure leaves the socket to all. */
async function openTcp({ paths, listen }: Config, openAt: (door: Door) => Promise<void>, log: Log): Promise<void> {
  if (listen === "off") return rememberAddress(paths.listenFile, undefined);
  const address = listen ?? recallAddress(paths.listenFile);
  if (address === undefined) return;
  try {
    await openAt({ kind: "tcp", host: resolveListenHost(address.host), port: address.port });
    if (listen !== undefined) rememberAddress(paths.listenFile, listen);
  } catch (error) {
    if (listen !== undefined) throw error;
    log.error("the TCP door stays shut", {
      why: (error as Error).message,
      hint: "MEMPALACE_LISTEN=off palace restart",
    });
  }
}

/** Errors: CONFIG_BAD_VALUE for a door that others can reach while there is no token. */
function placeOf({ paths, allowedHosts }: Config, door: Door, log: Log): DoorOptions["at"] {
  if (door.kind === "unix") return { ...door, role: "admin", name: "unix", credentials: peerCredentials };
  const tokens = new TokenBook(paths.tokensFile, (error) => log.error("no token is valid", { why: String(error) }));
  if (!isLoopback(door.host) && tokens.size === 0)
    throw new PalaceError(
      "CONFIG_BAD_VALUE",
      `${door.host}:${door.port} can be reached from elsewhere and there is no token yet`,
      "palace token add NAME --role agent",
    );
  return { ...door, guard: new Guard(tokens, allowedHosts) };
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
