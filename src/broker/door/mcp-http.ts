/** Serves `/mcp` by MCP's Streamable HTTP, without sessions. Loaded at the first request to `/mcp`, because the SDK is large. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { VERSION } from "../../base/version.ts";
import { FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from "../../protocol/headers.ts";
import { RPC, type RpcError } from "../../protocol/spec.ts";
import { INSTRUCTIONS } from "../../protocol/introduction.ts";
import { CAPABILITIES, type Capabilities, LISTS_TTL_MS } from "../../protocol/modern.ts";
import { SERVER_NAME } from "../../protocol/version.ts";
import type { Dispatch, Identity } from "../engine.ts";
import type { Peer } from "../peer.ts";
import { readBody, type RefusedBody } from "./body.ts";
import type { Held } from "./held.ts";
import { sendJson } from "./json-answer.ts";

const OUR_IDENTITY: Identity = {
  serverInfo: { name: SERVER_NAME, version: VERSION },
  instructions: INSTRUCTIONS,
  capabilities: CAPABILITIES,
};
const OLDER_CAPABILITIES: Capabilities = { tools: {} };

export type McpHttp = (request: IncomingMessage, response: ServerResponse, peer: Peer) => Promise<void>;

/** Error whose code, text and data the client gets unchanged. */
class WireError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor({ code, message, data }: RpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** HTTP methods that the SDK answers or refuses itself. It cannot even build a request of another method. */
const METHODS = ["POST", "GET", "DELETE"];
const METHODS_OF_CAPABILITY = {
  tools: ["tools/list", "tools/call"],
  resources: ["resources/list", "resources/templates/list", "resources/read"],
  prompts: ["prompts/list", "prompts/get"],
  completions: ["completion/complete"],
} as const;
const ONE_MESSAGE = "send one JSON-RPC message a request";

export function createMcpHttp(
  dispatch: Dispatch,
  { unfinished }: Pick<Held, "unfinished">,
  identity?: () => Identity | undefined,
): McpHttp {
  return async (request, response, peer) => {
    const { method = "" } = request;
    if (!METHODS.includes(method))
      return void response.writeHead(405, { allow: METHODS.join(", "), "content-length": 0 }).end();
    const body =
      method === "POST"
        ? await readBody(request, ONE_MESSAGE, { peer, unfinished })
        : { message: undefined, sizeBytes: 0 };
    if (body === undefined) return;
    if ("error" in body) return refuse(response, body);
    // The door has checked the host name. The SDK only builds an unused URL from the name, and fails on some names.
    request.headers.host = "localhost";
    const header = request.headers[IDEMPOTENCY_HEADER];
    const handler = createMcpHandler(
      ({ era }) => {
        const { capabilities, ...known } = identity?.() ?? OUR_IDENTITY;
        const described = { ...known, capabilities: era === "modern" ? capabilities : OLDER_CAPABILITIES };
        const key = typeof header === "string" ? header : undefined;
        return createServer(dispatch, peer, described, { sizeBytes: body.sizeBytes, key });
      },
      {
        maxRequestBodySize: FRAME_SIZE_MAX_BYTES,
        keepAliveMs: 0,
      },
    );
    try {
      // The SDK's types do not support exactOptionalPropertyTypes.
      const serve = toNodeHandler(handler, { maxRequestBodySize: FRAME_SIZE_MAX_BYTES });
      await serve(request as Parameters<typeof serve>[0], response, body.message);
    } finally {
      await handler.close();
    }
  };
}

/** Refuses and closes the connection, because the rest of an oversized body stays unread. */
function refuse(response: ServerResponse, { status, error }: RefusedBody): void {
  const code = status === 413 ? RPC.INVALID_REQUEST : RPC.PARSE_ERROR;
  const wire = { code, message: error.message, data: error.toWire() };
  sendJson(response, status, { jsonrpc: "2.0", id: null, error: wire }, { connection: "close" });
}

type Sent = { sizeBytes: number; key: string | undefined };

function createServer(dispatch: Dispatch, peer: Peer, identity: Identity, { sizeBytes, key }: Sent): Server {
  const { serverInfo, instructions, capabilities } = identity;
  const server = new Server(serverInfo, {
    capabilities,
    ...(instructions !== undefined && { instructions }),
    cacheHints: { "server/discover": { ttlMs: LISTS_TTL_MS, cacheScope: "private" } },
  });
  const forward = async (method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = await dispatch(peer, { jsonrpc: "2.0", id: 0, method, params }, sizeBytes);
    if (answer === undefined || "error" in answer)
      throw new WireError(answer?.error ?? { code: -32603, message: "no answer" });
    return answer.result as Record<string, unknown>;
  };
  for (const [capability, methods] of Object.entries(METHODS_OF_CAPABILITY)) {
    if (!Object.hasOwn(capabilities, capability)) continue;
    for (const method of methods)
      server.setRequestHandler(method, ({ params }, { mcpReq: { envelope } }) => {
        const { _meta, ...rest } = (params ?? {}) as { _meta?: object };
        // The SDK has moved a part of `_meta` into `envelope`; the route table expects all of it in `_meta`, as on a stream.
        const named = method === "tools/call" && key !== undefined ? { [IDEMPOTENCY_META]: key } : undefined;
        const meta = { ...envelope, ...named, ..._meta };
        return forward(method, { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) }) as never;
      });
  }
  return server;
}
