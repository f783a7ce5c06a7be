/** Checks, for `palace doctor`, the broker that answered: connection, build, doors and tokens. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { PalaceError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { readTokens, type TokenRecord } from "../../broker/door/tokens.ts";
import type { Config } from "../../config/config.ts";
import type { Health, StatusReport } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import { readSettings } from "../../wire/bridge/settings.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { readBrokerFile } from "../../wire/client/discover.ts";
import { formatEndpoint } from "../../wire/transport/endpoint.ts";
import { brokerBox } from "../docker/owner.ts";
import { PACKAGE_ROOT } from "../executable.ts";
import { formatDuration, plural, printable } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

export function cameOverBridge({ paths }: Config, endpoint: string): boolean {
  return endpoint === formatEndpoint({ kind: "unix", path: paths.bridgeSocketPath });
}

/** Reports how this machine reaches the broker. The broker itself does not know where its clients are. */
export function checkTopology(config: Config, { topology }: Health, endpoint: string): Check {
  const there = `; the broker there says ${topology}`;
  if (cameOverBridge(config, endpoint)) {
    const box = brokerBox(config);
    if (box !== undefined) return ok("topology", `through this machine's engine into ${box.container}${there}`);
    const bridge = readSettings(config.paths);
    return ok("topology", `over SSH (${bridge?.kind ?? "gate"}) to ${bridge?.target ?? "the host"}${there}`);
  }
  return ok("topology", endpoint.startsWith("http:") ? `over TCP${there}` : topology);
}

/** Compares broker.json with the handshake, which proves which broker answers. */
export function checkInstance(config: Config, health: Health, endpoint: string): Check {
  if (cameOverBridge(config, endpoint)) {
    const proof =
      brokerBox(config) === undefined ? "SSH has proved the broker's host" : "the engine names its container";
    return ok("instance", `${health.instanceId}; ${proof}`);
  }
  if (config.endpoint !== undefined)
    return ok("instance", `${health.instanceId}; with MEMPALACE_BROKER, not compared with broker.json`);
  const named = readBrokerFile(config.paths.brokerFile)?.instanceId;
  if (named === health.instanceId) return ok("instance", `${health.instanceId}, the same in broker.json and handshake`);
  return fail("instance", `broker.json names ${named ?? "none"}, but ${health.instanceId} answers`, "palace restart");
}

export function checkVersion(config: Config, { version, protocol }: Health): Check {
  const detail = `broker ${version} speaks ${protocol.min}-${protocol.max}, this client ${PROTOCOL.min}-${PROTOCOL.max}`;
  if (version === VERSION) return ok("protocol", detail);
  const hint = brokerBox(config) === undefined ? "palace restart" : "palace devbox recreate";
  return warn("protocol", `${detail}; their versions differ`, hint);
}

export function checkBuild(config: Config, { version, startedAtMs }: Health, root = PACKAGE_ROOT): Check {
  if (isBridged(config)) {
    const bridge = readSettings(config.paths);
    const where = bridge?.kind === "docker" ? `the image of container ${bridge.host}` : (bridge?.target ?? "the host");
    return compared(`${VERSION} here, ${version} in ${where}`, version);
  }
  if (config.endpoint !== undefined) return compared(`${VERSION} here, ${version} there`, version);
  const { what, madeAtMs } = whatRuns(root);
  const said = `${VERSION} of ${what}, broker ${version}`;
  if (madeAtMs !== undefined && startedAtMs < madeAtMs)
    return warn(
      "build",
      `${said}, which started before this version was installed (${formatDuration(Date.now() - madeAtMs)} ago)`,
      "palace restart",
    );
  return compared(said, version);
}

function compared(said: string, version: string): Check {
  return version === VERSION ? ok("build", said) : warn("build", said, "install the same version on both sides");
}

/** Returns what runs: the installed package, a clone's build, or a clone's sources if they are newer or not built. */
function whatRuns(root: string): { what: string; madeAtMs?: number } {
  const builtAtMs = statSync(join(root, "dist/bin"), { throwIfNoEntry: false })?.mtimeMs;
  if (!existsSync(join(root, "scripts/palace"))) {
    const madeAtMs = statSync(join(root, "package.json"), { throwIfNoEntry: false })?.ctimeMs;
    return { what: "the installed package", ...(madeAtMs !== undefined && { madeAtMs }) };
  }
  if (builtAtMs === undefined) return { what: "this clone's sources (not built)" };
  const inputs = ["package-lock.json", "tsconfig.json", "tsconfig.build.json"].map((name) => join(root, name));
  if (newest([...inputs, ...within(join(root, "src"))]) > builtAtMs)
    return { what: "this clone's sources, which are newer than its build (to build: ./scripts/up)" };
  // The date of dist/bin is the start of the build; the files in it have the date of the end.
  const madeAtMs = statSync(join(root, "dist/bin/palace.js"), { throwIfNoEntry: false })?.mtimeMs ?? builtAtMs;
  return { what: "this clone's build", madeAtMs };
}

function within(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return [folder, ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))];
}

function newest(paths: readonly string[]): number {
  return Math.max(0, ...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));
}

/** Returns no check if Roampal's port was not requested. */
export function checkOutcomeDoor({ outcomeDoor: door }: Pick<StatusReport, "outcomeDoor">): Check[] {
  if (door === undefined) return [];
  const who = door.isLocal
    ? "your own programs need no token"
    : "for programs that send a token; Roampal's own hooks, plugins and MCP server cannot: palace outcome door --local";
  if (door.state === "open") return [ok("outcome door", `open at ${addressOf(door)}: ${who}`)];
  return [warn("outcome door", `${addressOf(door)} is shut: ${printable(door.why)}`, door.hint)];
}

export function addressOf({ port }: { port: number }): string {
  return `http://127.0.0.1:${port}`;
}

const DAY_MS = 86_400_000;
const SOON_MS = 7 * DAY_MS;

/** Returns no check without tokens, or if the broker runs on another machine. */
export function checkTokens(config: Config, nowMs = Date.now()): Check[] {
  if (isElsewhere(config)) return [];
  let tokens: TokenRecord[];
  try {
    tokens = readTokens(config.paths.tokensFile);
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    return [warn("tokens", `${error.message}; no client can connect over TCP`, error.hint)];
  }
  if (tokens.length === 0) return [];
  const due = tokens.flatMap(({ name, expiresAtMs }) =>
    expiresAtMs === null || expiresAtMs > nowMs + SOON_MS ? [] : [{ name, expiresAtMs }],
  );
  const [first] = due;
  if (first === undefined) return [ok("tokens", `${plural(tokens.length, "token")}, none of which expires soon`)];
  const said = due.map(({ name, expiresAtMs }) => {
    const day = new Date(expiresAtMs).toISOString().slice(0, 10);
    return expiresAtMs <= nowMs ? `${name} has expired on ${day}` : `${name} expires on ${day}`;
  });
  const hint = `palace bridge token revoke ${first.name}; to give that client a new one: palace bridge token add ${first.name} --days 90`;
  return [warn("tokens", said.join(", "), hint)];
}
