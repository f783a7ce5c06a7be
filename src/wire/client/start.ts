/** Starts the broker's process and waits for the broker. If two clients start one, the second broker exits, because of the lock. */
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
/** Age after which the file `starting` (state-files.ts) has no effect, because its client has died. */
export const START_MARK_MS = START_TIMEOUT_MS / 2;
/** Pause before the first repetition of a failed start. The pause doubles each time. */
const START_AGAIN_MS = 1_000;
/** Pause between attempts to start a resident. A second resident exits at once. */
const BRIDGE_RESTART_MS = 5_000;

/** Running broker. `started`: true if this call started it. */
export type Ensured = { health: Health; endpoint: string; started: boolean };

/** Cancels `palace stop`, so that clients may start the broker again. */
export function clearStop(config: Config): void {
  clearStopped(config.paths);
}

/** Options of the wait for a broker. */
export type EnsureOptions = {
  /** Time to wait for a broker that this machine cannot start. Default: 0, or START_TIMEOUT_MS for a read-only palace. */
  timeoutMs?: number | undefined;
  /** Called each time a broker or a bridge's resident is being started on this machine. */
  onStarting?: () => void;
};

/**
 * Returns a running broker. Starts one if needed, but not for an address in MEMPALACE_BROKER or a read-only palace. Errors: BROKER_STOPPED
 * after `palace stop`, BROKER_START_FAILED, TRANSPORT_REFUSED for an address, PALACE_GONE, the errors of findBroker and of the broker.
 */
export async function ensureBroker(config: Config, options: EnsureOptions = {}): Promise<Ensured> {
  if (isBridged(config)) return ensureBridged(config, options.onStarting);
  const running = await findBroker(config);
  if (running !== undefined) return { ...running, started: false };
  // In a sandbox without sockets, a started broker could not open its socket either, and this call would wait for it in vain.
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
      // Repeats the start, because the process may have died, or may have exited as idle before we connected.
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

/** Waits until the broker has opened its palace; the door answers before that. Errors: why the broker cannot open the palace. */
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

/** Does the same as ensureBroker over a bridge, and starts the bridge's resident if needed. */
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

/** Throws if no broker can be expected any more. */
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

/** Starts a broker and returns true. Returns false if another client starts one, or a broker is running. */
async function startUnlessUp(config: Config): Promise<boolean> {
  if (!takeStarting(config.paths, START_MARK_MS)) return false;
  // The last client with the file `starting` may have started a broker. An error counts as a broker, and the next search reports it.
  const isUp = await findBroker(config).then(
    (meanwhile) => meanwhile !== undefined,
    () => true,
  );
  if (isUp) dropStarting(config.paths);
  else spawnBroker(config);
  return !isUp;
}

/** Returns the error for an address in MEMPALACE_BROKER at which no broker answers. */
export function unanswered(endpoint: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `no broker answers at ${endpoint} (MEMPALACE_BROKER)`,
    "start that broker on its machine, or unset MEMPALACE_BROKER",
  );
}

/** Returns false for a palace on a foreign mount, and for a read-only palace, as in the devbox: its broker runs elsewhere. */
function mayStart(config: Config): boolean {
  const { paths } = config;
  if (foreignMount(config) !== undefined) return false;
  if (!existsSync(paths.home) || canWrite(paths.home)) return true;
  return !existsSync(paths.brokerFile) && !existsSync(paths.ledgerFile);
}

/** Returns an error for a palace on a mount where a lock does not exclude another machine's broker. */
export function foreignMount({ paths, trustMount }: Config): PalaceError | undefined {
  // With config.json, the public palace may be on another mount than the home.
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

/** Starts a broker that outlives this process, and does not wait for it. `more`: further arguments. */
export function spawnBroker(config: Config, more: readonly string[] = []): void {
  const startedAtMs = performance.now();
  const child = spawnDetached(config, "mempalace-broker", ["--on-demand", ...more]);
  // Removes the file `starting` if the broker exits early, because the file would delay all other starts.
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

function spawnResident(config: Config): void {
  spawnDetached(config, "palace", ["bridge", "run"]).on("error", () => {});
}

/** Starts one of our executables detached, so that it outlives this process. */
function spawnDetached(config: Config, name: string, args: readonly string[]): ChildProcess {
  // The shim's bundle has the extension .cjs, but the executables beside it have .js.
  const extension = import.meta.filename.endsWith(".ts") ? "ts" : "js";
  const file = fileURLToPath(new URL(`../../bin/${name}.${extension}`, import.meta.url));
  const { palace, env: handedOn } = config.handedOn();
  // Leaves out the trace context, because the process outlives the command that starts it.
  const { TRACEPARENT: _, ...env } = handedOn;
  const argv = [file, ...args, ...palace];
  const child = spawn(process.execPath, argv, { detached: true, stdio: "ignore", cwd: "/", env });
  child.unref();
  return child;
}
