/**
 * Finds the broker: at `$MEMPALACE_BROKER`, else through `broker.json`. That file is only a hint: a handshake with the same instance id is
 * the proof. A pid from a file proves nothing and is never used.
 */
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
  /** Time to wait for the answer; behind a bridge the host may have to start a broker first. */
  timeoutMs: number;
};
const BRIDGE_TIMEOUT_MS = 10_000;

/** Socket with a stream of messages. `rest`: bytes that have already arrived; the socket is paused after them. */
export type Stream = { socket: Socket; rest: Buffer; endpoint: string };

/** Maximum size of a broker.json that we read: thirty times the usual size. */
const BROKER_FILE_SIZE_MAX_BYTES = 16 * 1024;
/** Maximum number of doors to try: each door without an answer costs a time-out. */
const DOORS_MAX = 4;

/** Reads broker.json; undefined if it is missing or malformed. Never throws, never blocks. Leaves out doors of unknown kinds. */
export function readBrokerFile(path: string): BrokerFile | undefined {
  try {
    const file = parseAs(readHead(path, BROKER_FILE_SIZE_MAX_BYTES), isBrokerFile);
    if (file === undefined) return undefined;
    return isCopy(path, file) ? undefined : { ...file, doors: file.doors.filter(isDoor).slice(0, DOORS_MAX) };
  } catch {
    return undefined;
  }
}

/**
 * Returns true if this file was copied together with the folder of a running broker: the original still exists at the path in the file.
 * Seen from another mount point, that path is missing or has other content.
 */
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

/** Checks the form of a door's address, because Node's connect() accepts other forms, too. */
function isDoor(value: unknown): value is Door {
  const { kind, path, host, port } = (value ?? {}) as Record<string, unknown>;
  if (kind === "unix") return typeof path === "string" && isAbsolute(path) && !path.includes("\0");
  if (kind !== "tcp" || typeof host !== "string" || typeof port !== "number") return false;
  return /^[\w.:%-]+$/.test(host) && Number.isInteger(port) && port > 0 && port < 65_536;
}

/** Lists the endpoints to dial, best first. */
function candidates(config: Config): Candidate[] {
  const timeoutMs = DIAL_TIMEOUT_MS;
  // With a bridge, users want the host's memory; a broker on this machine would be a second memory.
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

/**
 * Parts of a client's introduction besides its name. `revision`: the MCP revision that the client chose in an earlier handshake. `project`:
 * names of the client's project.
 */
export type Introduction = { revision?: McpVersion | undefined; project?: readonly string[] };

/**
 * Opens a message stream to the running broker; undefined if none runs. Errors: PROTOCOL_VERSION_MISMATCH, CONFIG_BAD_VALUE,
 * TRANSPORT_SANDBOXED.
 */
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
 * Returns the running broker's health, or undefined if none answers. Never starts one. `answerMs`: time to wait, for callers that must be
 * certain. Errors: as openStream; with `answerMs` also TRANSPORT_TIMEOUT if a broker accepts and stays silent.
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

/** Parses a broker's health; undefined if the body is not one. */
function toHealth(body: string): Health | undefined {
  const health = parseJson(body);
  const { instanceId, version, protocol } = (health ?? {}) as Partial<Record<keyof Health, unknown>>;
  const { min, max } = (protocol ?? {}) as Record<string, unknown>;
  const isWell = [instanceId, version].every((one) => typeof one === "string") && [min, max].every(Number.isInteger);
  return isWell ? (health as Health) : undefined;
}

/**
 * Returns the first answer to a request to `path`. Skips a door with an error TRANSPORT_*, and destroys its socket. Errors:
 * TRANSPORT_SANDBOXED and all errors of other kinds.
 */
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
      // This process may not open sockets, so every other door fails, too.
      if (error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
      if (!error.code.startsWith("TRANSPORT_")) throw error;
    }
  }
  return undefined;
}

/** Checks that this process may open sockets; a broker that it starts needs a socket, too. Errors: TRANSPORT_SANDBOXED. */
export async function assertSockets(config: Config): Promise<void> {
  try {
    (await dial({ kind: "unix", path: config.paths.socketPath })).destroy();
  } catch (error) {
    if (error instanceof PalaceError && error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
  }
}

/** Adds the sandbox's hint to the error. Imports lazily, because hardly any client runs in a sandbox. */
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
