/** Finds the broker: over the bridge, at `$MEMPALACE_BROKER`, or through `broker.json`, whose instance id the broker must have. */
import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { basename, isAbsolute, join } from "node:path";
import { isRecord, parseAs, parseJson, parseRecord } from "../../base/parse-json.ts";
import { readHead } from "../../base/regular-file.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { DIAL_TIMEOUT_MS } from "../../protocol/limits.ts";
import {
  AGENT_HEADER,
  INSTANCE_HEADER,
  MCP_VERSION_HEADER,
  PROJECT_HEADER,
  PROTOCOL_HEADER,
  TOOLS_HEADER,
} from "../../protocol/headers.ts";
import { type BrokerFile, type Door, type Health } from "../../protocol/spec.ts";
import { projectLine } from "../../protocol/project-header.ts";
import { type McpVersion, PROTOCOL } from "../../protocol/version.ts";
import { dial, type Endpoint, formatEndpoint, parseEndpoint } from "../transport/endpoint.ts";
import { get, upgrade } from "../transport/http-client.ts";
import { type Authorization, authorize } from "./authorize.ts";
import { isBridged, missingBridge } from "./bridge.ts";

type Candidate = {
  endpoint: Endpoint;
  instanceId: string | undefined;
  timeoutMs: number;
};
/** Time to wait for an answer over a bridge. The host may have to start a broker first. */
const BRIDGE_TIMEOUT_MS = 10_000;

/** Stream of messages on a paused socket. `rest`: bytes that have already been read. */
export type Stream = { socket: Socket; rest: Buffer; endpoint: string };

/** Maximum number of bytes to read of broker.json: thirty times its usual size. */
const BROKER_FILE_SIZE_MAX_BYTES = 16 * 1024;
/** Maximum number of doors to try, because each door without an answer costs a time-out. */
const DOORS_MAX = 4;

/** Reads broker.json without doors of unknown kinds. Returns undefined if the file is missing, malformed or a copy. Never throws. */
export function readBrokerFile(path: string): BrokerFile | undefined {
  try {
    const file = parseAs(readHead(path, BROKER_FILE_SIZE_MAX_BYTES), isBrokerFile);
    if (file === undefined) return undefined;
    return isCopy(path, file) ? undefined : { ...file, doors: file.doors.filter(isDoor).slice(0, DOORS_MAX) };
  } catch {
    return undefined;
  }
}

/** Returns true for a copied broker.json: the original still exists in the home folder that the file names. */
function isCopy(path: string, { home, instanceId }: BrokerFile): boolean {
  if (typeof home !== "string" || !isAbsolute(home)) return false;
  const original = join(home, basename(path));
  const [there, here] = [original, path].map((file) => statSync(file, { throwIfNoEntry: false, bigint: true }));
  if (there?.isFile() !== true || (there.ino === here?.ino && there.dev === here.dev)) return false;
  return parseRecord(readHead(original, BROKER_FILE_SIZE_MAX_BYTES))["instanceId"] === instanceId;
}

function isBrokerFile(value: unknown): value is BrokerFile {
  if (!isRecord(value)) return false;
  return value["schema"] === 1 && typeof value["instanceId"] === "string" && Array.isArray(value["doors"]);
}

/** Checks the address strictly, because Node's connect() also accepts other forms. */
function isDoor(value: unknown): value is Door {
  const { kind, path, host, port } = (value ?? {}) as Record<string, unknown>;
  if (kind === "unix") return typeof path === "string" && isAbsolute(path) && !path.includes("\0");
  if (kind !== "tcp" || typeof host !== "string" || typeof port !== "number") return false;
  return /^[\w.:%-]+$/.test(host) && Number.isInteger(port) && port > 0 && port < 65_536;
}

function candidates(config: Config): Candidate[] {
  const timeoutMs = DIAL_TIMEOUT_MS;
  // With a bridge, ignores a broker on this machine, which would have a second memory.
  if (isBridged(config)) {
    if (missingBridge(config) !== undefined) return [];
    const endpoint: Endpoint = { kind: "unix", path: config.paths.bridgeSocketPath };
    return [{ endpoint, instanceId: undefined, timeoutMs: BRIDGE_TIMEOUT_MS }];
  }
  if (config.endpoint !== undefined)
    return [{ endpoint: parseEndpoint(config.endpoint), instanceId: undefined, timeoutMs }];
  const file = readBrokerFile(config.paths.brokerFile);
  // Without a token, leaves out TCP doors: their refusal would hide a UNIX socket that is about to appear.
  const doors = (file?.doors ?? []).filter(({ kind }) => kind === "unix" || config.token() !== undefined);
  return doors.map((endpoint) => ({ endpoint, instanceId: file?.instanceId, timeoutMs }));
}

/** Headers that a client sends to a broker. `revision`: MCP revision of an earlier handshake. `project`: names of the client's project. */
export type Introduction = { revision?: McpVersion | undefined; project?: readonly string[] };

/** Opens a stream to the running broker. Errors: PROTOCOL_VERSION_MISMATCH, CONFIG_BAD_VALUE, BROKER_*, TRANSPORT_SANDBOXED. */
export async function openStream(
  config: Config,
  agent: string,
  { revision, project = [] }: Introduction = {},
): Promise<Stream | undefined> {
  const named = projectLine(project);
  return firstLive(config, "/mcp", async (socket, { endpoint, instanceId, timeoutMs }, { headers: proof, verify }) => {
    const said = {
      [AGENT_HEADER]: agent,
      ...(config.tools !== "full" && { [TOOLS_HEADER]: config.tools }),
      ...(revision !== undefined && { [MCP_VERSION_HEADER]: revision }),
      ...(named !== "" && { [PROJECT_HEADER]: named }),
    };
    const { headers, rest } = await upgrade(socket, { ...proof, ...said }, timeoutMs);
    verify(headers);
    const [, min, max] = /^(\d{1,6})-(\d{1,6})$/.exec(headers.get(PROTOCOL_HEADER) ?? "") ?? [];
    if (min !== undefined)
      assertProtocol({ protocol: { min: Number(min), max: Number(max) }, version: "of another version" });
    const isOther = instanceId !== undefined && headers.get(INSTANCE_HEADER) !== instanceId;
    return isOther ? undefined : { socket, rest, endpoint: formatEndpoint(endpoint) };
  });
}

/**
 * Returns the running broker's health, or undefined if no broker answers. `answerMs`: time to wait for an answer. Errors: as openStream;
 * with `answerMs` also TRANSPORT_TIMEOUT if a broker accepts the connection and stays silent.
 */
export async function findBroker(
  config: Config,
  answerMs?: number,
): Promise<{ health: Health; endpoint: string } | undefined> {
  let silent: PalaceError | undefined;
  const found = await firstLive(config, "/health", async (socket, { endpoint, instanceId, timeoutMs }, proof) => {
    const asked = get(socket, "/health", proof.headers, answerMs ?? timeoutMs);
    const { body, headers } = await asked.catch((error: PalaceError) => {
      if (error.code === "TRANSPORT_TIMEOUT") silent = error;
      throw error;
    });
    proof.verify(headers);
    const health = toHealth(body);
    if (health === undefined || (instanceId !== undefined && health.instanceId !== instanceId)) return undefined;
    assertProtocol(health);
    return { health, endpoint: formatEndpoint(endpoint) };
  });
  if (found === undefined && answerMs !== undefined && silent !== undefined) throw silent;
  return found;
}

function toHealth(body: string): Health | undefined {
  const health = parseJson(body);
  const { instanceId, version, protocol } = (health ?? {}) as Partial<Record<keyof Health, unknown>>;
  const { min, max } = (protocol ?? {}) as Record<string, unknown>;
  const isWell = [instanceId, version].every((one) => typeof one === "string") && [min, max].every(Number.isInteger);
  return isWell ? (health as Health) : undefined;
}

/** Returns the first result of `attempt`. Tries the next endpoint after an error TRANSPORT_*, except TRANSPORT_SANDBOXED. */
async function firstLive<T>(
  config: Config,
  path: string,
  attempt: (socket: Socket, candidate: Candidate, proof: Authorization) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const candidate of candidates(config)) {
    let socket: Socket | undefined;
    try {
      socket = await dial(candidate.endpoint);
      const live = await attempt(socket, candidate, await authorize(socket, candidate.endpoint, path, config.token));
      if (live !== undefined) return live;
      socket.destroy();
    } catch (error) {
      socket?.destroy();
      if (!(error instanceof PalaceError)) throw error;
      // A sandboxed process may not open any socket, so every other door fails, too.
      if (error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
      if (!error.code.startsWith("TRANSPORT_")) throw error;
    }
  }
  return undefined;
}

/** Checks that this process may open sockets. Errors: TRANSPORT_SANDBOXED. */
export async function assertSockets(config: Config): Promise<void> {
  try {
    (await dial({ kind: "unix", path: config.paths.socketPath })).destroy();
  } catch (error) {
    if (error instanceof PalaceError && error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
  }
}

/** Imported lazily, because hardly any client runs in a sandbox. */
async function namedSandbox(config: Config, error: PalaceError): Promise<PalaceError> {
  return (await import("./sandbox.ts")).namedSandbox(config, error);
}

function assertProtocol({ protocol, version }: Pick<Health, "protocol" | "version">): void {
  if (protocol.min <= PROTOCOL.max && protocol.max >= PROTOCOL.min) return;
  throw new PalaceError(
    "PROTOCOL_VERSION_MISMATCH",
    `the running broker (${version}) speaks protocol ${protocol.min}-${protocol.max}, this client ${PROTOCOL.min}-${PROTOCOL.max}`,
    "run `palace restart` with the newer of the two",
  );
}
