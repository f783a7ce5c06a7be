/** MCP 2026-07-28 has no handshake: each request's `_meta` has an envelope with version and client, which the SDK reads on HTTP. */
import { isRecord } from "../base/parse-json.ts";
import { CLIENT_INFO_META } from "./headers.ts";
import { RPC, type RpcError } from "./spec.ts";
import { MODERN_MCP_VERSION } from "./version.ts";

export const VERSION_META = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";
export const SERVER_INFO_META = "io.modelcontextprotocol/serverInfo";
/** Keys of the envelope. The broker removes them from requests to its engine's child process. */
export const ENVELOPE_KEYS: readonly string[] = [VERSION_META, CLIENT_INFO_META, CAPABILITIES_META, LOG_LEVEL_META];

/** Time that a client may cache this server's lists, ms. Only a new version of the server changes the lists. */
export const LISTS_TTL_MS = 300_000;
/** Methods whose results get caching hints. True: the result is a list of this server. */
const CACHEABLE: Readonly<Record<string, boolean>> = {
  "server/discover": true,
  "tools/list": true,
  "prompts/list": true,
  "resources/list": true,
  "resources/templates/list": true,
  "resources/read": false,
};

export type Implementation = { name: string; version: string } & Record<string, unknown>;
export type Capabilities = Readonly<Record<string, object>>;
export const CAPABILITIES: Capabilities = { tools: {}, resources: {}, prompts: {} };
/** Content of a valid envelope. `clientInfo`: name and version; undefined if the client sent none. */
export type Envelope = { clientInfo: unknown };

/**
 * Reads the envelope of a request. Returns undefined for a request of an older revision, and for `initialize` with a malformed envelope.
 * Returns an error for any other malformed envelope and for an unsupported version.
 */
export function readEnvelope(
  method: string,
  params: Readonly<Record<string, unknown>>,
): Envelope | { error: RpcError } | undefined {
  const meta = params["_meta"];
  if (!isRecord(meta) || !Object.hasOwn(meta, VERSION_META)) return undefined;
  const issue = issueOf(meta);
  if (issue !== undefined) {
    if (method === "initialize") return undefined;
    const message = `Invalid _meta envelope for protocol revision ${MODERN_MCP_VERSION}: ${issue.key}: ${issue.problem}`;
    return { error: { code: RPC.INVALID_PARAMS, message, data: { envelope: issue } } };
  }
  const requested = String(meta[VERSION_META]).slice(0, VERSION_SHOWN_MAX);
  if (requested === MODERN_MCP_VERSION) return { clientInfo: meta[CLIENT_INFO_META] };
  return {
    error: {
      code: RPC.UNSUPPORTED_PROTOCOL_VERSION,
      message: `Unsupported protocol version: ${requested}`,
      data: { supported: [MODERN_MCP_VERSION], requested },
    },
  };
}

const VERSION_SHOWN_MAX = 100;

function issueOf(meta: Record<string, unknown>): { key: string; problem: string } | undefined {
  if (typeof meta[VERSION_META] !== "string") return { key: VERSION_META, problem: "expected a string" };
  const capabilities = meta[CAPABILITIES_META];
  if (capabilities === undefined) return { key: CAPABILITIES_META, problem: "missing" };
  if (!isRecord(capabilities)) return { key: CAPABILITIES_META, problem: "expected an object" };
  const client = meta[CLIENT_INFO_META];
  if (client === undefined) return undefined;
  const isNamed = isRecord(client) && typeof client["name"] === "string" && typeof client["version"] === "string";
  return isNamed ? undefined : { key: CLIENT_INFO_META, problem: "expected an object with name and version" };
}

export function discovered(capabilities: Capabilities, instructions: string | undefined): Record<string, unknown> {
  return {
    supportedVersions: [MODERN_MCP_VERSION],
    capabilities,
    ...(instructions !== undefined && { instructions }),
  };
}

/** Adds the fields that MCP 2026-07-28 requires in each result. `ttlMs`: how long a client may cache lists, ms. */
export function modernResult(
  method: string,
  result: unknown,
  { serverInfo, ttlMs }: { serverInfo: Implementation; ttlMs: number },
): Record<string, unknown> {
  const said = isRecord(result) ? result : {};
  const meta = isRecord(said["_meta"]) ? said["_meta"] : {};
  const isList = Object.hasOwn(CACHEABLE, method) ? CACHEABLE[method] : undefined;
  return {
    ...said,
    resultType: said["resultType"] ?? "complete",
    // Scope `private`, because the lists of tools depend on the client's profile, and other results are the user's memory.
    ...(isList !== undefined && { ttlMs: isList ? ttlMs : 0, cacheScope: "private" }),
    _meta: { [SERVER_INFO_META]: serverInfo, ...meta },
  };
}
