/**
 * Finds the broker: `$MEMPALACE_BROKER` verbatim, else `broker.json`, which is only a hint: the proof is a handshake that
 * returns the same instance id. A pid from a file proves nothing and is never used.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { basename, isAbsolute, join } from "node:path";
import { isRecord } from "../../base/is-record.ts";
import { parseAs, parseRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import { parseJson } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";
import { DIAL_TIMEOUT_MS } from "../../protocol/limits.ts";
import {
  AGENT_HEADER,
  type BrokerFile,
  type Door,
  type Health,
  INSTANCE_HEADER,
  MCP_VERSION_HEADER,
  PROJECT_HEADER,
  PROTOCOL_HEADER,
  TOOLS_HEADER,
} from "../../protocol/spec.ts";
import { projectLine } from "../../protocol/project-header.ts";
import { type McpVersion, PROTOCOL } from "../../protocol/version.ts";
import { dial, type Endpoint, formatEndpoint, parseEndpoint } from "../transport/endpoint.ts";
import { get, upgrade } from "../transport/http-client.ts";
import { type Authorization, authorize } from "./authorize.ts";
import { isBridged, missingBridge } from "./bridge.ts";

type Candidate = {
  endpoint: Endpoint;
  instanceId: string | undefined;
  /** Limits the wait for its answer; behind a bridge, a broker may have to be started first. */
  timeoutMs: number;
};
const BRIDGE_TIMEOUT_MS = 10_000;

/** A socket that carries messages. `rest`: bytes that have arrived already; the socket is paused behind them. */
export type Stream = { socket: Socket; rest: Buffer; endpoint: string };

/** Thirty times the size of the file that a broker writes. */
const BROKER_FILE_SIZE_MAX_BYTES = 16 * 1024;
/** Bounds the search: each door that does not answer costs a dial's time-out. */
const DOORS_MAX = 4;

/**
 * Reads broker.json; returns undefined when it is missing or malformed. Never throws, never blocks. Doors of a kind unknown
 * to this client are left out.
 */
export function readBrokerFile(path: string): BrokerFile | undefined {
  try {
    const file = parseAs(readSmallFile(path), isBrokerFile);
    if (file === undefined) return undefined;
    return isCopy(path, file) ? undefined : { ...file, doors: file.doors.filter(isDoor).slice(0, DOORS_MAX) };
  } catch {
    return undefined;
  }
}

/**
 * True when this file is a copy made together with the folder of a running broker: the original still exists where the
 * broker wrote it, as another file. From another mount point, that path is missing or holds something else.
 */
function isCopy(path: string, { home, instanceId }: BrokerFile): boolean {
  if (typeof home !== "string" || !isAbsolute(home)) return false;
  const original = join(home, basename(path));
  const [there, here] = [original, path].map((file) => statSync(file, { throwIfNoEntry: false, bigint: true }));
  if (there === undefined || here === undefined || (there.ino === here.ino && there.dev === here.dev)) return false;
  return parseRecord(readSmallFile(original))["instanceId"] === instanceId;
}

function isBrokerFile(value: unknown): value is BrokerFile {
  if (!isRecord(value)) return false;
  return value["schema"] === 1 && typeof value["instanceId"] === "string" && Array.isArray(value["doors"]);
}

/** Reads a regular file only, and no more than the limit: reading a pipe in its place would block. */
function readSmallFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return "";
    const bytes = Buffer.alloc(BROKER_FILE_SIZE_MAX_BYTES + 1);
    const length = readSync(file, bytes);
    return length > BROKER_FILE_SIZE_MAX_BYTES ? "" : bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

/** Checks the shape: Node's connect() accepts much more than a door's address. */
function isDoor(value: unknown): value is Door {
  const { kind, path, host, port } = (value ?? {}) as Record<string, unknown>;
  if (kind === "unix") return typeof path === "string" && isAbsolute(path) && !path.includes("\0");
  if (kind !== "tcp" || typeof host !== "string" || typeof port !== "number") return false;
  return /^[\w.:%-]+$/.test(host) && Number.isInteger(port) && port > 0 && port < 65_536;
}

/** Lists the endpoints worth dialling, best first. */
function candidates(config: Config): Candidate[] {
  const timeoutMs = DIAL_TIMEOUT_MS;
  // Users who set a bridge up want the host's memory: a broker on this machine would split it in two.
  if (isBridged(config)) {
    if (missingBridge(config) !== undefined) return [];
    const endpoint: Endpoint = { kind: "unix", path: config.paths.bridgeSocketPath };
    return [{ endpoint, instanceId: undefined, timeoutMs: BRIDGE_TIMEOUT_MS }];
  }
  if (config.endpoint !== undefined)
    return [{ endpoint: parseEndpoint(config.endpoint), instanceId: undefined, timeoutMs }];
  const file = readBrokerFile(config.paths.brokerFile);
  // A TCP door needs a token: without one it only refuses, and the refusal hides that the socket is about to appear.
  const doors = (file?.doors ?? []).filter(({ kind }) => kind === "unix" || config.token() !== undefined);
  return doors.map((endpoint) => ({ endpoint, instanceId: file?.instanceId, timeoutMs }));
}

/**
 * The parts of a client's introduction beside its name. `revision`: of MCP, by the handshake of a client that was connected before.
 * `project`: names of the project that the client works in.
 */
export type Introduction = { revision?: McpVersion | undefined; project?: readonly string[] };

/**
 * Opens a message stream to the live broker; undefined when there is none. Errors: PROTOCOL_VERSION_MISMATCH, CONFIG_BAD_VALUE,
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
 * Returns the live broker's health, or undefined when none answers. Never starts one. `answerMs` is the wait for an answer,
 * for callers that must be certain. Errors: those of openStream; with `answerMs` also TRANSPORT_TIMEOUT, when a broker
 * accepts and stays silent.
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

/** Returns undefined for a body that no broker sends. */
function toHealth(body: string): Health | undefined {
  const health = parseJson(body);
  const { instanceId, version, protocol } = (health ?? {}) as Partial<Record<keyof Health, unknown>>;
  const { min, max } = (protocol ?? {}) as Record<string, unknown>;
  const isWell = [instanceId, version].every((one) => typeof one === "string") && [min, max].every(Number.isInteger);
  return isWell ? (health as Health) : undefined;
}

/**
 * Returns the first answer to a request to `path`. A door that refuses or says nonsense is passed over and its socket destroyed; a
 * bug of ours is thrown.
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
      // No other door is open to a process that may open no socket.
      if (error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
      if (!error.code.startsWith("TRANSPORT_")) throw error;
    }
  }
  return undefined;
}

/** Checks that this process may open sockets: a broker that it starts needs one, too. Errors: TRANSPORT_SANDBOXED. */
export async function assertSockets(config: Config): Promise<void> {
  try {
    (await dial({ kind: "unix", path: config.paths.socketPath })).destroy();
  } catch (error) {
    if (error instanceof PalaceError && error.code === "TRANSPORT_SANDBOXED") throw await namedSandbox(config, error);
  }
}

/** The import is lazy: hardly any client runs in a sandbox. */
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
