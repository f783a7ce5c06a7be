/** Runs the checks of `palace doctor`, the basics first, because the first failure usually explains the later ones. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import { Spool } from "../../wire/client/spool.ts";
import { ensureBroker } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { isStopped, vanishedPalace } from "../../base/state-files.ts";
import { VERSION } from "../../base/version.ts";
import { PalaceError } from "../../base/errors.ts";
import type { ErasureReport } from "../../protocol/hygiene.ts";
import { ABSENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { EngineReport, Health, StatusReport } from "../../protocol/spec.ts";
import {
  cameOverBridge,
  checkBuild,
  checkInstance,
  checkOutcomeDoor,
  checkTokens,
  checkTopology,
  checkVersion,
} from "../doctor/broker.ts";
import { type Check, fail, ok, warn } from "../doctor/check.ts";
import { checkJudge, checkSettingsFile } from "../doctor/settings.ts";
import { type Asked, askWrittenAhead, checkClock, checkDisk, checkUid, checkVolumes } from "../doctor/machine.ts";
import { formatBytes, formatDuration, formatEngine, plural, printable } from "../terminal/output.ts";
import { checkAgents, checkOneMemory } from "./agents.ts";
import {
  askErasure,
  describeAdoption,
  describeClosets,
  describeErasure,
  describeForeignWriters,
  describeGraph,
  describeLag,
} from "./describe.ts";
import { EVENTS } from "../../memory/backup/contents.ts";
import { assertEvents } from "../../memory/backup/look.ts";
import { checkBackups } from "./backup-health.ts";
import { checkModel, checkReranker, checkRuntime } from "./model-checks.ts";

/** Maximum time that the driver may lag without a warning. */
const LAG_WARN_MS = 60_000;
const OPEN_MAX_MS = 30_000;
/** Maximum wait until the broker has found the model or knows that it is missing. After that, the model is reported as loading. */
const MODEL_MAX_MS = 5_000;
const POLL_MS = 50;

/** Runs all checks. `mayStart`: starts a broker if none is running. Never throws. */
export async function runChecks(config: Config, mayStart: boolean): Promise<Check[]> {
  const here = [
    checkNode(),
    checkRuntime(config),
    checkHome(config),
    ...checkVolumes(config),
    await checkDisk(config),
    ...checkSettings(config),
    checkStop(config),
    checkSpool(config),
    ...checkEvents(config),
    ...(await checkOneMemory(config)),
    ...checkAgents(config),
    checkBackups(config),
    ...checkTokens(config),
  ];
  const reached = await reachBroker(config, mayStart);
  const { status } = reached instanceof PalaceError ? {} : (reached ?? {});
  return [
    ...here,
    ...checkReached(config, reached),
    ...checkSettingsFile(config, status instanceof PalaceError ? undefined : status),
    ...(await checkJudge(config.settings.env)),
  ];
}

function checkReached(config: Config, reached: Reached | PalaceError | undefined): Check[] {
  if (reached instanceof PalaceError) {
    const { code, message, hint } = reached;
    const names = code === "BROKER_DENIED" ? ["token", "broker"] : ["broker"];
    return [...names.map((name) => fail(name, message, hint)), ...checkUid(config)];
  }
  const next = isStopped(config.paths) ? "palace start" : "the next agent starts it; or: palace start";
  if (reached === undefined) return [warn("broker", "not running", next)];
  const { health, endpoint, status, erasure } = reached;
  const forgetting = describeErasure(erasure);
  return [
    checkBroker(config, health, endpoint, reached.started),
    checkInstance(config, health, endpoint),
    checkVersion(config, health),
    checkBuild(config, health),
    ...checkUid(config),
    checkClock(config, health, reached.asked),
    checkTopology(config, health, endpoint),
    ...(status instanceof PalaceError ? [] : checkOutcomeDoor(status)),
    ...checkPalace(status, config),
    ...(forgetting === undefined
      ? []
      : [warn("forgetting", forgetting, "it continues by itself; `palace logs` says what blocks it")]),
    checkIdle(config),
  ];
}

function checkPalace(status: StatusReport | PalaceError, config: Config): Check[] {
  if (status instanceof PalaceError) return [fail("palace", status.message, status.hint)];
  if (status.engine?.kind === "command") return [checkEngine(status.engine, config), checkQueue(status)];
  return [
    checkLedger(status),
    checkQueue(status),
    checkModel(status, config),
    checkReranker(status),
    checkDriver(status),
    // Always passes: a search works without closets, and checkDriver explains why closets wait to be written.
    ok("closets", describeClosets(status.closets)),
    checkGraph(status),
    checkUpstreamLock(status),
    checkStrays(status),
    checkAdoption(status),
  ];
}

type Reached = {
  health: Health;
  endpoint: string;
  started: boolean;
  status: StatusReport | PalaceError;
  erasure: ErasureReport | undefined;
  asked: Asked;
};

/** Connects to the broker and asks for its state. Returns undefined if no broker runs and none may be started. */
async function reachBroker(config: Config, mayStart: boolean): Promise<Reached | PalaceError | undefined> {
  let client: Client | undefined;
  try {
    const running = await findBroker(config);
    if (running === undefined && !mayStart && config.endpoint === undefined) return undefined;
    const found =
      running === undefined
        ? await ensureBroker(config, { timeoutMs: ABSENT_TIMEOUT_MS })
        : { ...running, started: false };
    client = await connectClient({ config, agent: "palace doctor", start: "never" });
    const status = await askWhenOpen(client).catch(asKnown);
    const erasure = await askErasure(client);
    const writtenMs = await askWrittenAhead(client);
    const fromMs = Date.now();
    const health = (await findBroker(config))?.health ?? { ...found.health, nowMs: undefined };
    return { ...found, health, status, erasure, asked: { fromMs, toMs: Date.now(), writtenMs } };
  } catch (error) {
    return asKnown(error);
  } finally {
    client?.close();
  }
}

/** Asks until the palace is open and its model is loaded, or time is up. A status before that is provisional. */
async function askWhenOpen(client: Client): Promise<StatusReport> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const status = await client.call("palace.status", {});
    const isLooking = status.engine?.kind !== "command" && status.search.modelState === "loading";
    const waitMaxMs = status.state === "opening" ? OPEN_MAX_MS : isLooking ? MODEL_MAX_MS : 0;
    if (waitedMs >= waitMaxMs) return status;
    await sleep(POLL_MS);
  }
}

function asKnown(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  return new PalaceError("TRANSPORT_REFUSED", `the broker cannot be asked: ${String(error)}`, "run `palace logs`", {
    cause: error,
  });
}

/** Always passes, because base/node-version.ts has already refused an older Node. */
function checkNode(): Check {
  return ok("node", `Node ${process.versions.node}, palace-devbox ${VERSION}`);
}

function checkHome({ paths, endpoint }: Config): Check {
  const gone = vanishedPalace(paths);
  if (gone !== undefined && endpoint === undefined) return fail("home", gone.message, gone.hint);
  if (!existsSync(paths.home)) return ok("home", `${paths.home} (made at the first start)`);
  const isWritable = canWrite(paths.home);
  if (endpoint !== undefined)
    return ok("home", `${paths.home}, ${isWritable ? "writable" : "read-only"} here; a broker elsewhere writes it`);
  if (isWritable) return ok("home", `${paths.home}, writable`);
  if (existsSync(paths.brokerFile)) return ok("home", `${paths.home}, read-only here; a broker elsewhere writes it`);
  return fail("home", `${paths.home} cannot be written here`, `check who owns it: ls -ld '${paths.home}'`);
}

function checkSettings({ filing }: Config): Check[] {
  const { ignored } = filing();
  return ignored.length === 0
    ? []
    : [warn("settings", ignored.map(printable).join("; "), "correct config.json or unset it")];
}

function checkStop({ paths }: Config): Check {
  if (!isStopped(paths)) return ok("stop mark", "none: agents start the broker by themselves");
  return warn("stop mark", "the broker was stopped by hand and stays off", "palace start");
}

function checkSpool({ paths }: Config): Check {
  const spool = new Spool(paths.spoolDir);
  let waiting: number, refused: number;
  try {
    [waiting, refused] = [spool.entries().length, spool.refused().length];
  } catch (error) {
    const { message, hint } = asKnown(error);
    return fail("spool", message, hint);
  }
  if (refused > 0)
    return warn(
      "spool",
      `${plural(refused, "spooled write")} refused by a broker${spool.droppedAtMs === undefined ? "" : " (older ones were dropped to make room)"}, ${waiting} waiting`,
      "palace status spool list",
    );
  if (waiting === 0) return ok("spool", "nothing waits");
  return warn("spool", `${plural(waiting, "write")} waiting for a broker`, "palace status spool replay");
}

/** Checks the coordination log if this machine has the palace; the broker reports on the ledger. */
function checkEvents({ paths }: Config): Check[] {
  const file = join(paths.palaceDir, EVENTS);
  if (!existsSync(file)) return [];
  try {
    assertEvents(file);
    return [ok("events", `${file} is whole`)];
  } catch (error) {
    // The broker reports other errors, such as a read-only folder, when it writes.
    if (!(error instanceof PalaceError)) return [];
    return [fail("events", `${file}: ${error.message}; backups leave it out`, error.hint)];
  }
}

function checkBroker(config: Config, health: Health, endpoint: string, started: boolean): Check {
  const why = cameOverBridge(config, endpoint)
    ? "the bridge's local end (palace bridge status)"
    : config.endpoint === undefined
      ? `named in ${config.paths.brokerFile}`
      : "named by MEMPALACE_BROKER";
  const detail = `${health.status}${started ? " (started now)" : ""} at ${endpoint}, ${why}`;
  if (health.error !== undefined) return fail("broker", `${detail}: ${health.error.message}`, health.error.hint);
  return health.status === "draining"
    ? warn("broker", detail, "run `palace doctor` again in a moment")
    : ok("broker", detail);
}

function checkLedger(status: StatusReport): Check {
  const size = `${plural(status.drawers, "drawer")} in ${plural(status.wings, "wing")}, ${formatBytes(status.ledgerSizeBytes)}`;
  if (status.error !== undefined) return fail("ledger", `${size}: ${status.error.message}`, status.error.hint);
  return status.state === "ready"
    ? ok("ledger", size)
    : warn("ledger", `${status.state}, ${size}`, "run `palace doctor` again in a moment");
}

/** Checks an external engine, which keeps its own data: a ledger of the builtin engine in the same palace is then not in use. */
function checkEngine(engine: Extract<EngineReport, { kind: "command" }>, { paths }: Config): Check {
  const { state, lastError } = engine;
  const said = lastError === null ? "" : `; last error: ${printable(lastError.message)}`;
  const detail = `command: ${formatEngine(engine)}${said}`;
  if (state === "failed") return fail("engine", detail, lastError?.hint ?? "run `palace logs`");
  if (state !== "ready") return warn("engine", detail, "run `palace doctor` again in a moment");
  if (existsSync(paths.ledgerFile))
    return warn(
      "engine",
      `${detail}; ${paths.ledgerFile} is the builtin engine's and is not read`,
      "MEMPALACE_ENGINE=builtin palace restart, to use it",
    );
  return ok("engine", detail);
}

function checkQueue({ queue, peers }: StatusReport): Check {
  const detail = `${queue.depth} of ${queue.depthMax} waiting, ${queue.refused} refused, ${plural(peers, "peer")}`;
  return queue.depth < queue.depthMax / 2
    ? ok("queue", detail)
    : warn("queue", detail, "wait, or run `palace logs` to see who writes");
}

const UNREACHABLE_HINTS: Partial<Record<StatusReport["driver"]["kind"], string>> = {
  files: "give the broker write access to the palace folder, and check the disk",
  chroma: "start Chroma or correct chroma-url (palace config)",
};

function checkDriver({ driver }: StatusReport): Check {
  const detail = `${driver.kind}: ${driver.state}${describeLag(driver)}${driver.detail === "" ? "" : `; ${driver.detail}`}`;
  if (driver.state === "unreachable")
    return warn(
      "driver",
      detail,
      `${UNREACHABLE_HINTS[driver.kind] ?? "run `palace logs`"}; nothing is lost meanwhile`,
    );
  const isLate = driver.lag > 0 && driver.lagMs > LAG_WARN_MS && driver.state !== "waiting";
  return isLate
    ? warn("driver", detail, "it catches up by itself; run `palace logs` if it does not")
    : ok("driver", detail);
}

/** Checks whether MemPalace's file has the whole graph. The ledger has the whole graph in any case. */
function checkGraph({ graph }: StatusReport): Check {
  const detail = describeGraph(graph);
  if (graph?.state !== "unreachable") return describeElsewhere(detail, graph?.elsewhere);
  return warn("graph", `${detail}; nothing is lost`, "correct that file or move it away; the broker writes it again");
}

function describeElsewhere(detail: string, elsewhere: NonNullable<StatusReport["graph"]>["elsewhere"]): Check {
  if (elsewhere === undefined) return ok("graph", detail);
  const { file, facts } = elsewhere;
  return warn(
    "graph",
    `${detail}; ${plural(facts, "fact")} of a MemPalace that was started with --palace ${facts === 1 ? "is" : "are"} in ${printable(file)} and not here`,
    "start MemPalace without --palace; docs/topologies/mempalace-beside.md says how to bring them over",
  );
}

/** Checks MemPalace's own lock. Our own lock needs no check, because only a broker with the lock answers. */
function checkUpstreamLock({ upstreamLock: { state, detail } }: StatusReport): Check {
  if (state === "held") return ok("palace lock", `this lock keeps a MemPalace of this HOME from writing: ${detail}`);
  if (state === "none") return ok("palace lock", `not needed: ${detail}`);
  const waits = "new rows wait in the ledger, and none is lost";
  return warn("palace lock", `${detail}; ${waits}`, "end that process; the broker then continues by itself");
}

/** Checks the adoption. Until the adoption is verified, the broker does not write to the public palace; the memory itself works. */
function checkAdoption({ adoption }: StatusReport): Check {
  const detail = describeAdoption(adoption) ?? "there was no palace to adopt";
  return adoption?.state === "refused" ? warn("adoption", detail, adoption.hint) : ok("adoption", detail);
}

/** Checks for rows of other writers: the rows do no harm, but they show that two programs write one palace. */
function checkStrays({ strays, driver }: StatusReport): Check {
  const detail = describeForeignWriters(strays);
  if (strays.state !== "found") return ok("strays", detail);
  if (strays.unindexed > 0)
    return warn("strays", detail, "end that MemPalace, restart Chroma, then type palace restart to send all drawers");
  if (driver.kind === "none") return warn("strays", detail, "the broker adopts their rows, so none is lost");
  return warn("strays", detail, "end that MemPalace, or connect its agents to this memory");
}

function checkIdle({ idleExitMs, endpoint }: Config): Check {
  if (endpoint !== undefined) return ok("idle exit", "set on the broker's machine");
  if (idleExitMs === 0) return ok("idle exit", "never");
  return ok("idle exit", `after ${formatDuration(idleExitMs)} without clients; the next client starts the broker`);
}
