/**
 * `/mcp` as standard clients speak it: MCP's Streamable HTTP by the official SDK, both protocol eras, without sessions.
 * Every call goes through the same route table as the streams'. Loaded at the first such request: the SDK is large and
 * most brokers never meet one.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { VERSION } from "../platform/version.ts";
import { FRAME_SIZE_MAX_BYTES } from "../protocol/limits.ts";
import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META, type RpcError } from "../protocol/spec.ts";
import { SERVER_NAME } from "../protocol/version.ts";
import type { Dispatch } from "./methods.ts";
import type { Peer } from "./peer.ts";

/** What `initialize` says of the server. */
export type Identity = { serverInfo: { name: string; version: string }; instructions?: string };

const OUR_IDENTITY: Identity = { serverInfo: { name: SERVER_NAME, version: VERSION } };

export type McpHttp = (request: IncomingMessage, response: ServerResponse, peer: Peer) => Promise<void>;

/** An error whose number and text cross the wire as they are. */
class WireError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor({ code, message, data }: RpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function createMcpHttp(dispatch: Dispatch, identity?: () => Identity | undefined): McpHttp {
  return async (request, response, peer) => {
    const header = request.headers[IDEMPOTENCY_HEADER];
    const handler = createMcpHandler(
      () => createServer(dispatch, peer, identity?.() ?? OUR_IDENTITY, typeof header === "string" ? header : undefined),
      {
        maxRequestBodySize: FRAME_SIZE_MAX_BYTES,
        keepAliveMs: 0,
      },
    );
    try {
      // The SDK's types were written without exactOptionalPropertyTypes.
      await toNodeHandler(handler)(request as Parameters<ReturnType<typeof toNodeHandler>>[0], response);
    } finally {
      await handler.close();
    }
  };
}

function createServer(dispatch: Dispatch, peer: Peer, identity: Identity, key: string | undefined): Server {
  const { serverInfo, instructions } = identity;
  const server = new Server(serverInfo, {
    capabilities: { tools: {} },
    ...(instructions !== undefined && { instructions }),
  });
  const forward = async (method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = await dispatch(peer, { jsonrpc: "2.0", id: 0, method, params }, JSON.stringify(params).length);
    if (answer === undefined || "error" in answer)
      throw new WireError(answer?.error ?? { code: -32603, message: "no answer" });
    return answer.result as Record<string, unknown>;
  };
  server.setRequestHandler("tools/list", (request) => forward("tools/list", request.params ?? {}) as never);
  server.setRequestHandler("tools/call", (request) => {
    const { name, arguments: given, _meta } = request.params;
    const meta = key === undefined ? _meta : { [IDEMPOTENCY_META]: key, ..._meta };
    return forward("tools/call", { name, arguments: given, ...(meta !== undefined && { _meta: meta }) }) as never;
  });
  return server;
}
