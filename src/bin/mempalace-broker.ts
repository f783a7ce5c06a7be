#!/usr/bin/env node
/** `mempalace-broker`: runs the broker itself (--foreground), or makes sure that one runs (--ensure). */
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runBroker } from "../broker/life/lifecycle.ts";
import { makesWay } from "../broker/life/lock.ts";
import type { MinerCommand } from "../broker/mine/job.ts";
import { hasBridge } from "../wire/client/bridge.ts";
import { findBroker } from "../wire/client/discover.ts";
import { clearStop, ensureBroker, foreignMount } from "../wire/client/start.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { assertSettings } from "../config/settings.ts";
import { armFault } from "../base/fault-point.ts";
import { leave } from "../base/exit-process.ts";
import { createLog } from "../base/log.ts";
import { useProxy } from "../base/proxy.ts";
import {
  askToMakeWay,
  dropStarting,
  isDiskFull,
  isStopped,
  isWanted,
  setFailed,
  writeFailure,
} from "../base/state-files.ts";
import "../base/node-version.ts";
import { VERSION } from "../base/version.ts";
import { PalaceError } from "../base/errors.ts";
import { START_TIMEOUT_MS } from "../protocol/limits.ts";
import { executable } from "../cli/executable.ts";
import { logFile } from "../cli/terminal/log-rotation.ts";

/** Maximum time, ms, that an ending broker waits for a slow reader of its log. It is short because the next broker waits for the lock. */
const READERS_MAX_MS = 1_000;

const HELP = `usage: mempalace-broker --ensure | --foreground | --at-login [--palace DIR] [--new]

  --ensure      make sure a broker runs (start one if not) and print its endpoint as one JSON line
  --foreground  run the broker in this process, log to stderr; on SIGTERM or Ctrl-C it finishes the accepted calls and ends
  --at-login    the same for a service manager: log to the file of \`palace logs\`, and end at once after \`palace stop\`
  --palace DIR  the palace's folder (default: MEMPALACE_PALACE_PATH, else MEMPALACE_PATH, else ~/.mempalace)
  --new         begin an empty palace where one existed before and is gone
  --version     print the version
`;

const HELD_RETRY_MS = 50;
const MINER_HEAP_MAX_MIB = 2048;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      ensure: { type: "boolean" },
      foreground: { type: "boolean" },
      "on-demand": { type: "boolean" },
      "at-login": { type: "boolean" },
      palace: { type: "string" },
      new: { type: "boolean" },
      version: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.version) return print(`${VERSION}\n`);
  if (values.help || !(values.ensure || values.foreground || values["on-demand"] || values["at-login"]))
    return print(HELP, values.help ? 0 : 2);

  const config = loadConfig(process.env, { palace: values.palace });
  if (values.ensure) {
    clearStop(config);
    const { endpoint, health, started } = await ensureBroker(config);
    return print(
      `${JSON.stringify({ endpoint, instanceId: health.instanceId, version: health.version, status: health.status, started })}\n`,
    );
  }
  if (values.foreground) clearStop(config);
  const isAtLogin = values["at-login"] === true;
  // At a login no broker starts if the user stopped it by hand, or if a bridge leads to another broker.
  if (isAtLogin && (isStopped(config.paths) || hasBridge(config)))
    return print("mempalace-broker: not started, because of `palace stop` or a bridge; next: palace start\n");
  return serve(config, {
    palace: values.palace,
    isOnDemand: values["on-demand"] === true || isAtLogin,
    isMeantToStay: values.foreground === true || isAtLogin,
    startAnew: values.new === true,
  });
}

type ServeOptions = {
  palace: string | undefined;
  /** True if a client or a service manager started this broker, without a terminal. */
  isOnDemand: boolean;
  isMeantToStay: boolean;
  startAnew: boolean;
};

/**
 * Runs until the broker ends. If another broker has the palace, a broker that is not permanent ends without an error. Errors: as runBroker.
 */
async function serve(config: Config, { palace, isOnDemand, isMeantToStay, startAnew }: ServeOptions): Promise<number> {
  armFault(config.fault);
  if (config.proxy !== undefined) useProxy(config.proxy);
  // The reader of our log may be gone, which must not end the broker.
  process.stderr.on("error", () => {});
  // Stops the embedding runtime's usage reports. Its threads read the real environment, so the variable is set in `process.env`.
  Object.assign(process.env, { ORT_DISABLE_TELEMETRY: "1" });
  const foreign = foreignMount(config);
  const write = isOnDemand ? logFile(config.paths.logFile) : (line: string) => void process.stderr.write(line);
  const log = createLog(write, config.logLevel);
  try {
    if (foreign !== undefined) throw foreign;
    for (const { message, hint } of config.settings.faults)
      log.warn("the settings file has an error", { why: message, hint });
    assertSettings(config.settings);
    for (let deadline = performance.now() + START_TIMEOUT_MS / 2; ; await sleep(HELD_RETRY_MS)) {
      const outcome = await runBroker({
        ...{ config, miner: minerOf(palace) },
        log,
        onListening: () => dropStarting(config.paths),
        mustStayAway: () => whyNotHere(config, { isOnDemand, isMeantToStay }),
        isOnDemand: !isMeantToStay,
        startAnew,
      });
      if (typeof outcome === "number") return outcome;
      if (isMeantToStay && makesWay(outcome.heldBy)) askToMakeWay(config.paths.wantedFile);
      // Gives up if the lock's holder answers. A holder that does not answer is about to exit, and this broker then takes its place.
      else if (await isServed(config)) deadline = 0;
      if (performance.now() > deadline) {
        log.info("another broker holds this palace", { home: config.paths.home, holder: outcome.heldBy });
        return 0;
      }
    }
  } catch (error) {
    log.error("the broker did not start", { why: String(error), cause: String((error as Error).cause ?? "") });
    const known = asPalaceError(error);
    if (isOnDemand) setFailed(config.paths, known);
    throw isDiskFull(error) ? known : error;
  } finally {
    dropStarting(config.paths);
  }
}

/** Returns the command of our own `palace mine` for this palace, without variables that name another broker or a test's fault. */
function minerOf(palace: string | undefined): MinerCommand {
  const [command, file] = executable("palace");
  const args = [`--max-old-space-size=${MINER_HEAP_MAX_MIB}`, file];
  const env = { ...process.env, MEMPALACE_BROKER: "", MEMPALACE_FAULT: "" };
  return { command, args: palace === undefined ? args : [...args, "--palace", resolve(palace)], env };
}

/** Returns the reason why this broker must not run here. Neither a client nor a service may undo `palace stop`. */
function whyNotHere(
  config: Config,
  { isOnDemand, isMeantToStay }: Pick<ServeOptions, "isOnDemand" | "isMeantToStay">,
): string | undefined {
  if (isOnDemand && isStopped(config.paths)) return "stopped by hand";
  if (isMeantToStay) return undefined;
  if (isWanted(config.paths.wantedFile)) return "a permanent broker wants to take over the palace";
  return hasBridge(config) ? "clients here use the host's broker over a bridge" : undefined;
}

/** Returns true if a broker serves the palace. A broker that is ending does not count: its clients wait for the next broker. */
async function isServed(config: Config): Promise<boolean> {
  const live = await findBroker(config);
  return live !== undefined && live.health.status !== "draining";
}

function asPalaceError(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  const { path } = error as NodeJS.ErrnoException;
  if (isDiskFull(error)) return writeFailure(path ?? "the palace", error);
  return new PalaceError(
    "BROKER_START_FAILED",
    `the broker did not start: ${(error as Error).message}`,
    "run `palace logs`",
  );
}

function print(text: string, code = 0): number {
  (code === 0 ? process.stdout : process.stderr).write(text);
  return code;
}

try {
  await leave(await main(), READERS_MAX_MS);
} catch (error) {
  const known = error instanceof PalaceError ? error : undefined;
  const usage = (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") === true;
  process.stderr.write(
    `mempalace-broker: ${(error as Error).message}\n${known?.hint ? `  ${known.hint}\n` : usage ? "  run `mempalace-broker --help`\n" : ""}`,
  );
  await leave(known?.exitCode ?? (usage ? 2 : 70), READERS_MAX_MS);
}
