/** Resident: keeps a bridge's connection open and serves its local socket. Clients start it when needed, and it exits when idle. */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { tryFlock } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { type ChannelServer, serveChannels } from "./channel.ts";
import { BridgeConnection } from "./ssh-connection.ts";
import {
  type BridgePaths,
  type BridgeSettings,
  type BridgeState,
  keyFile,
  readSettings,
  writeState,
} from "./settings.ts";
import { DockerExec } from "./docker-exec.ts";
import { SshCommand } from "./ssh-command.ts";

/** Settings of a resident. `idleExitMs`: time without a client after which the resident exits; 0 means never. */
export type ResidentOptions = { paths: BridgePaths; idleExitMs: number; log: Log };

const WATCH_MS = 1_000;

/** Runs the resident until its end. Returns at once if another resident runs. Errors: CONFIG_USAGE if no bridge is set up. */
export async function runResident({ paths, idleExitMs, log }: ResidentOptions): Promise<void> {
  const settings = readSettings(paths);
  if (settings === undefined) throw wrongUsage("no bridge is set up here", "palace bridge setup HOST");
  const lock = openSync(join(paths.bridgeDir, "lock"), "a", 0o600);
  if (!tryFlock(lock)) return closeSync(lock);
  ftruncateSync(lock, 0);
  writeSync(lock, String(process.pid));

  const connection = openConnection(settings, paths);
  let idleSinceMs = performance.now();
  let server: Pick<ChannelServer, "locals" | "close"> = { locals: new Set(), close: () => {} };
  const say = stateWriter(paths, () => server.locals.size, log);
  connection.on("connected", () => {
    log.info("bridge connected", { host: settings.host, port: settings.port, kind: settings.kind });
    say({ state: "connected", why: "" });
  });
  connection.on("down", (why) => {
    log.warn("bridge down", { why });
    say({ state: "down", why });
  });

  const open = async (): Promise<Duplex> => {
    try {
      const channel = await connection.channel();
      say({ state: "connected", why: "" });
      return channel;
    } catch (error) {
      say({ state: "down", why: (error as Error).message, ...(error instanceof PalaceError && { hint: error.hint }) });
      throw error;
    }
  };
  const socketPath = paths.bridgeSocketPath;
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  // This process holds the lock, so an existing socket was left behind by a dead resident.
  rmSync(socketPath, { force: true });
  server = await serveChannels(socketPath, open, () => (idleSinceMs = performance.now()));
  say({});
  await ending(() => server.locals.size > 0 || idleExitMs === 0 || performance.now() - idleSinceMs < idleExitMs);
  // Writes the state first, because the next resident, which also writes the state, may start when the socket is closed.
  say({ state: "ended", why: "" });
  server.close();
  connection.close();
  rmSync(socketPath, { force: true });
  closeSync(lock);
}

function openConnection(settings: BridgeSettings, paths: BridgePaths): BridgeConnection | SshCommand | DockerExec {
  if (settings.kind === "docker") return new DockerExec(settings);
  if (settings.kind === "command") return new SshCommand(settings, paths.bridgeDir);
  return new BridgeConnection(settings, readFileSync(keyFile(paths)));
}

function stateWriter(paths: BridgePaths, channels: () => number, log: Log): (more: Partial<BridgeState>) => void {
  const nowMs = Date.now();
  let state: BridgeState = {
    ...{ state: "connecting", pid: process.pid, why: "", hint: "" },
    ...{ sinceMs: nowMs, atMs: nowMs, channels: 0 },
  };
  return (more) => {
    const changed = more.state !== undefined && more.state !== state.state;
    const hint = more.why === undefined ? state.hint : "";
    state = {
      ...state,
      hint,
      ...more,
      channels: channels(),
      atMs: Date.now(),
      ...(changed && { sinceMs: Date.now() }),
    };
    try {
      writeState(paths, state);
    } catch (error) {
      // A full disk must not end the bridge.
      log.warn("the bridge's state was not written", { why: String(error) });
    }
  };
}

function ending(isWanted: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const watch = setInterval(() => isWanted() || end(), WATCH_MS);
    const end = (): void => {
      clearInterval(watch);
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, end);
  });
}
