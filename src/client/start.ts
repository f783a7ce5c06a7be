/**
 * Starts the broker by executing it, at most once at a time. The start lock only saves work (twenty clients would start twenty
 * processes, nineteen of which leave again at the broker's own lock); it proves nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/config.ts";
import {
  clearStopped,
  dropStarting,
  isStopped as hasStopMark,
  readFailed,
  setFailed,
  takeStarting,
  vanishedPalace,
} from "../platform/state-files.ts";
import { hasCoherentLocks, mountOf } from "../platform/mount.ts";
import { PalaceError } from "../protocol/errors.ts";
import { START_TIMEOUT_MS } from "../protocol/limits.ts";
import type { Health } from "../protocol/spec.ts";
import { bridgeFault, isBridged, missingBridge } from "./bridge.ts";
import { findBroker } from "./discover.ts";

const POLL_MS = 15;
/** A start mark older than that was left by somebody who died. */
export const START_MARK_MS = START_TIMEOUT_MS / 2;
/** A start that came to nothing is repeated after this, then after twice as long, and so on. */
const START_AGAIN_MS = 1_000;
/** A resident that runs makes a second one leave at once. */
const BRIDGE_RESTART_MS = 5_000;

export type Ensured = { health: Health; endpoint: string; started: boolean };

/** True after `palace stop`: nothing starts a broker by itself then. */
export function isStopped(config: Config): boolean {
  return hasStopMark(config.paths);
}

/** Lifts `palace stop`. */
export function clearStop(config: Config): void {
  clearStopped(config.paths);
}

export type EnsureOptions = {
  /** How long a broker that is not ours to start is waited for; left out: not at all, or where the palace can only be read, until it must be there. */
  patienceMs?: number | undefined;
  /** A broker is being started here: it is worth waiting for. */
  onStarting?: () => void;
};

/**
 * A live broker, started if need be; not from here behind a verbatim endpoint, nor where the palace can only be read.
 * Errors: BROKER_STOPPED (sticky), BROKER_START_FAILED, TRANSPORT_REFUSED where the
 * endpoint was given verbatim, PALACE_GONE, PROTOCOL_VERSION_MISMATCH, and what the started broker failed with.
 */
export async function ensureBroker(config: Config, options: EnsureOptions = {}): Promise<Ensured> {
  if (isBridged(config)) return ensureBridged(config, options.onStarting);
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
      // Again after a while, ever longer: what was started may have died, or ended for want of work before we came.
      if (canStart && (lastStart === undefined || performance.now() - lastStart > againMs)) {
        if (lastStart !== undefined) againMs *= 2;
        started = (await startUnlessUp(config)) || started;
        lastStart = performance.now();
        options.onStarting?.();
      }
    } else if (performance.now() - since >= (options.patienceMs ?? 0)) throw unanswered(config.endpoint);
    await sleep(POLL_MS);
  }
}

/** As ensureBroker, over this container's bridge, whose resident is started if need be. */
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
    if (fault !== undefined || performance.now() > deadline) throw fault ?? bridgeSilent();
    if (lastStart === undefined || performance.now() - lastStart > BRIDGE_RESTART_MS) {
      spawnResident(config);
      lastStart = performance.now();
      onStarting?.();
    }
    await sleep(POLL_MS);
  }
}

type Waiting = EnsureOptions & { waitedMs: number; canStart: boolean; hasStarted: boolean };

/** Errors: why no broker will come, or none came in time. */
function assertWorthWaiting(config: Config, { patienceMs, waitedMs, canStart, hasStarted }: Waiting): void {
  const { paths } = config;
  if (isStopped(config))
    throw new PalaceError("BROKER_STOPPED", "the broker was stopped by hand", "run `palace start`");
  const foreign = foreignMount(config);
  if (foreign !== undefined && waitedMs >= (patienceMs ?? 0)) throw foreign;
  if (waitedMs > (patienceMs ?? START_TIMEOUT_MS) && !canStart)
    throw new PalaceError(
      "STORE_READ_ONLY",
      `${paths.home} cannot be written here, and no broker of elsewhere answers`,
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

/** True: a broker was started here, and not somebody else's start waited for. */
async function startUnlessUp(config: Config): Promise<boolean> {
  if (!takeStarting(config.paths, START_MARK_MS)) return false;
  // Who held the mark until now may have brought one up since we looked; what is wrong with it the next look tells.
  const isUp = await findBroker(config).then(
    (meanwhile) => meanwhile !== undefined,
    () => true,
  );
  if (isUp) dropStarting(config.paths);
  else spawnBroker(config);
  return !isUp;
}

/** The error for an endpoint that was given verbatim, behind which nobody is. */
export function unanswered(endpoint: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `no broker answers at ${endpoint} (MEMPALACE_BROKER)`,
    "start that broker where it belongs, or unset MEMPALACE_BROKER",
  );
}

function bridgeSilent(): PalaceError {
  return new PalaceError("TRANSPORT_TIMEOUT", "the bridge did not come up", "palace bridge status");
}

/**
 * False where the palace can only be read, as in the devbox: its broker runs elsewhere and is waited for. A process of ours
 * could not open the palace anyway; the kernel sees to that.
 */
function mayStart(config: Config): boolean {
  const { paths } = config;
  if (foreignMount(config) !== undefined) return false;
  try {
    if (existsSync(paths.home)) accessSync(paths.home, constants.W_OK);
    return true;
  } catch {
    return !existsSync(paths.brokerFile) && !existsSync(paths.ledgerFile);
  }
}

/** The error for a palace whose lock would not keep another machine's broker out: it is never opened from here. */
export function foreignMount({ paths, trustMount }: Config): PalaceError | undefined {
  // A palace that config.json has moved may lie elsewhere.
  const places = trustMount ? [] : [paths.home, paths.palaceDir].map((path) => ({ path, mount: mountOf(path) }));
  const foreign = places.find(({ mount }) => !hasCoherentLocks(mount));
  if (foreign === undefined) return undefined;
  const { path, mount } = foreign;
  return new PalaceError(
    "PALACE_FOREIGN_MOUNT",
    `${path} lies on a shared folder (${mount?.type ?? ""}), where the locks of other machines are not seen`,
    "reach the broker of the machine it belongs to: palace bridge setup HOST",
  );
}

/** `more`: further arguments of the broker's. */
export function spawnBroker(config: Config, more: readonly string[] = []): void {
  const startedAtMs = performance.now();
  const child = spawnDetached(config, "mempalace-broker", ["--on-demand", ...more]);
  // One that leaves before anybody could have started the next has left its mark behind, and would hold up all others.
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

/** Starts the bridge's resident; one that runs already keeps its lock, and the second leaves again. */
function spawnResident(config: Config): void {
  spawnDetached(config, "palace", ["bridge", "run"]).on("error", () => {});
}

/** One of our executables, with this very Node, that outlives us. */
function spawnDetached(config: Config, name: string, args: readonly string[]): ChildProcess {
  // Not this file's own extension: in the shim's bundle that is .cjs.
  const extension = import.meta.filename.endsWith(".ts") ? "ts" : "js";
  const file = fileURLToPath(new URL(`../bin/${name}.${extension}`, import.meta.url));
  const { palace, env } = config.handedOn();
  const argv = [file, ...args, ...palace];
  const child = spawn(process.execPath, argv, { detached: true, stdio: "ignore", cwd: "/", env });
  child.unref();
  return child;
}
