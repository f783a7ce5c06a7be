/**
 * Starts the broker's process, once at a time. The start lock only saves work: if twenty clients started twenty brokers, nineteen would
 * exit at the broker's own lock. The start lock proves nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { hasCoherentLocks, mountOf } from "../../base/mount.ts";
import {
  clearStopped,
  dropStarting,
  isStopped,
  readFailed,
  setFailed,
  takeStarting,
  vanishedPalace,
} from "../../base/state-files.ts";
import { PalaceError, unwritable } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Health } from "../../protocol/spec.ts";
import { bridgeFault, isBridged, missingBridge } from "./bridge.ts";
import { assertSockets, findBroker } from "./discover.ts";

const POLL_MS = 15;
/** Age above which a start mark is ignored: a dead process has left it. */
export const START_MARK_MS = START_TIMEOUT_MS / 2;
/** First pause before a failed start is repeated; the pause doubles each time. */
const START_AGAIN_MS = 1_000;
/** Pause between attempts to start a resident; if one already runs, the second one exits at once. */
const BRIDGE_RESTART_MS = 5_000;

/** A broker that answers. `started`: this call started it. */
export type Ensured = { health: Health; endpoint: string; started: boolean };

/** Removes the mark of `palace stop`, so that clients start the broker again. */
export function clearStop(config: Config): void {
  clearStopped(config.paths);
}

/** Limits of the wait for a broker. */
export type EnsureOptions = {
  /** Time to wait for a broker that we cannot start. Default: 0; for a read-only palace, the time that a start may take. */
  timeoutMs?: number | undefined;
  /** Called if a broker is starting on this machine, so that the caller can wait. */
  onStarting?: () => void;
};

/**
 * Returns a running broker and starts one if needed, but never for a given address or a read-only palace. Errors: BROKER_STOPPED (after
 * `palace stop`), BROKER_START_FAILED, TRANSPORT_REFUSED for a given address, PALACE_GONE, PROTOCOL_VERSION_MISMATCH, TRANSPORT_SANDBOXED,
 * and the error of the started broker.
 */
export async function ensureBroker(config: Config, options: EnsureOptions = {}): Promise<Ensured> {
  if (isBridged(config)) return ensureBridged(config, options.onStarting);
  const running = await findBroker(config);
  if (running !== undefined) return { ...running, started: false };
  // A broker started inside a sandbox would fail in the same way, but only after the whole time for a start.
  if (config.endpoint === undefined) await assertSockets(config);
  const since = performance.now();
  let started = false;
  let lastStart: number | undefined;
  let againMs = START_AGAIN_MS;
  for (;;) {
    const found = await findBroker(config);
    if (found !== undefined) return { ...found, started };
    if (config.endpoint === undefined) {
      const canStart = mayStart(config);
      assertWorthWaiting(config, {
        ...options,
        waitedMs: performance.now() - since,
        canStart,
        hasStarted: lastStart !== undefined,
      });
      // Repeats the start at growing intervals: the process may have died, or exited as idle before we connected.
      if (canStart && (lastStart === undefined || performance.now() - lastStart > againMs)) {
        if (lastStart !== undefined) againMs *= 2;
        started = (await startUnlessUp(config)) || started;
        lastStart = performance.now();
        options.onStarting?.();
      }
    } else if (performance.now() - since >= (options.timeoutMs ?? 0)) throw unanswered(config.endpoint);
    await sleep(POLL_MS);
  }
}

/** Waits until the broker has opened its palace; its door answers before that. Errors: the error that prevents the opening. */
export async function untilOpen<T extends Pick<Ensured, "health">>(config: Config, found: T): Promise<T> {
  let { health } = found;
  for (const deadline = performance.now() + START_TIMEOUT_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    health = (await findBroker(config))?.health ?? health;
    if (health.status !== "opening") break;
  }
  const { error } = health;
  if (health.status !== "failed" || error === undefined) return { ...found, health };
  throw new PalaceError(error.code, error.message, error.hint);
}

/** Does the same as ensureBroker over this container's bridge, and starts the bridge's resident if needed. */
async function ensureBridged(config: Config, onStarting: (() => void) | undefined): Promise<Ensured> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  const sinceMs = Date.now();
  let lastStart: number | undefined;
  for (;;) {
    const found = await findBroker(config);
    if (found !== undefined) return { ...found, started: false };
    const missing = missingBridge(config);
    if (missing !== undefined) throw missing;
    const fault = bridgeFault(config, sinceMs);
    if (fault !== undefined) throw fault;
    if (performance.now() > deadline)
      throw new PalaceError("TRANSPORT_TIMEOUT", "the bridge did not come up", "palace bridge status");
    if (lastStart === undefined || performance.now() - lastStart > BRIDGE_RESTART_MS) {
      spawnResident(config);
      lastStart = performance.now();
      onStarting?.();
    }
    await sleep(POLL_MS);
  }
}

type Waiting = EnsureOptions & { waitedMs: number; canStart: boolean; hasStarted: boolean };

/** Throws if waiting is useless: no broker will come, or none came in time. */
function assertWorthWaiting(config: Config, { timeoutMs, waitedMs, canStart, hasStarted }: Waiting): void {
  const { paths } = config;
  if (isStopped(paths)) throw new PalaceError("BROKER_STOPPED", "the broker was stopped by hand", "run `palace start`");
  const foreign = foreignMount(config);
  if (foreign !== undefined && waitedMs >= (timeoutMs ?? 0)) throw foreign;
  if (waitedMs > (timeoutMs ?? START_TIMEOUT_MS) && !canStart)
    throw unwritable(
      `${paths.home} cannot be written here, and no broker of another machine answers`,
      "start the broker where the palace can be written (compose: docker compose up -d broker), or make the folder writable",
    );
  if (waitedMs > START_TIMEOUT_MS)
    throw new PalaceError(
      "BROKER_START_FAILED",
      `no broker became reachable within ${START_TIMEOUT_MS / 1000} s; its log is ${paths.logFile}`,
      "run `palace logs`",
    );
  const gone = vanishedPalace(paths);
  if (gone !== undefined) throw gone;
  const failed = hasStarted ? readFailed(paths) : undefined;
  if (failed !== undefined) throw failed;
}

/** Returns true if this process started a broker, false if it waits for another start. */
async function startUnlessUp(config: Config): Promise<boolean> {
  if (!takeStarting(config.paths, START_MARK_MS)) return false;
  // The last owner of the mark may have started a broker meanwhile; the next search reports that broker's problems.
  const isUp = await findBroker(config).then(
    (meanwhile) => meanwhile !== undefined,
    () => true,
  );
  if (isUp) dropStarting(config.paths);
  else spawnBroker(config);
  return !isUp;
}

/** Returns the error for a given address at which no broker answers. */
export function unanswered(endpoint: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `no broker answers at ${endpoint} (MEMPALACE_BROKER)`,
    "start that broker on its machine, or unset MEMPALACE_BROKER",
  );
}

/**
 * Returns false for a read-only palace, as in the devbox: its broker runs elsewhere, and clients wait for it. The kernel enforces this: a
 * broker started here could not open the palace.
 */
function mayStart(config: Config): boolean {
  const { paths } = config;
  if (foreignMount(config) !== undefined) return false;
  if (!existsSync(paths.home) || canWrite(paths.home)) return true;
  return !existsSync(paths.brokerFile) && !existsSync(paths.ledgerFile);
}

/**
 * Returns the error for a palace on a mount where its lock does not exclude another machine's broker. This machine never opens such a
 * palace.
 */
export function foreignMount({ paths, trustMount }: Config): PalaceError | undefined {
  // config.json may put the palace on another mount than its home.
  const places = trustMount ? [] : [paths.home, paths.palaceDir].map((path) => ({ path, mount: mountOf(path) }));
  const foreign = places.find(({ mount }) => !hasCoherentLocks(mount));
  if (foreign === undefined) return undefined;
  const { path, mount } = foreign;
  return new PalaceError(
    "PALACE_FOREIGN_MOUNT",
    `${path} is in a shared folder (${mount?.type ?? ""}), where this machine does not see the locks of other machines`,
    "use the broker of the machine that owns the folder: palace bridge setup HOST",
  );
}

/** Starts a broker that outlives this process, without waiting for it. `more`: further arguments of the broker. */
export function spawnBroker(config: Config, more: readonly string[] = []): void {
  const startedAtMs = performance.now();
  const child = spawnDetached(config, "mempalace-broker", ["--on-demand", ...more]);
  // A child that exits early would leave its start mark, which delays every other start.
  child.on("exit", () => {
    if (performance.now() - startedAtMs < START_MARK_MS) dropStarting(config.paths);
  });
  child.on("error", (cause) => {
    setFailed(
      config.paths,
      new PalaceError("BROKER_START_FAILED", `${process.execPath} cannot be started`, "install Node 24 again", {
        cause,
      }),
    );
    dropStarting(config.paths);
  });
}

/** Starts the bridge's resident; if one runs already, the second one exits. */
function spawnResident(config: Config): void {
  spawnDetached(config, "palace", ["bridge", "run"]).on("error", () => {});
}

/** Starts one of our executables with this Node, detached, so that it outlives this process. */
function spawnDetached(config: Config, name: string, args: readonly string[]): ChildProcess {
  // Does not use this file's own extension: in the shim's bundle that is .cjs.
  const extension = import.meta.filename.endsWith(".ts") ? "ts" : "js";
  const file = fileURLToPath(new URL(`../../bin/${name}.${extension}`, import.meta.url));
  const { palace, env: handedOn } = config.handedOn();
  // The new process outlives the trace of the command that starts it.
  const { TRACEPARENT: _, ...env } = handedOn;
  const argv = [file, ...args, ...palace];
  const child = spawn(process.execPath, argv, { detached: true, stdio: "ignore", cwd: "/", env });
  child.unref();
  return child;
}
