/**
 * `/mcp` for standard clients: MCP's Streamable HTTP by the official SDK, both protocol eras, without sessions. Every
 * call goes through the same route table as the streams'. It is loaded at the first such request: the SDK is large, and
 * most brokers never get one.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { VERSION } from "../../platform/version.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META, RPC, type RpcError } from "../../protocol/spec.ts";
import { INSTRUCTIONS } from "../../protocol/introduction.ts";
import { SERVER_NAME } from "../../protocol/version.ts";
import { decodeFrame } from "../../transport/frame.ts";
import type { Dispatch, Identity } from "../engine.ts";
import type { Peer } from "../peer.ts";

/** The server's name and version in `initialize`. */
const OUR_IDENTITY: Identity = { serverInfo: { name: SERVER_NAME, version: VERSION }, instructions: INSTRUCTIONS };

export type McpHttp = (request: IncomingMessage, response: ServerResponse, peer: Peer) => Promise<void>;

/** An error whose number and text cross the wire unchanged. */
class WireError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor({ code, message, data }: RpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Methods that the SDK answers or refuses itself; it cannot even build a request of others. */
const METHODS = ["POST", "GET", "DELETE"];

export function createMcpHttp(dispatch: Dispatch, identity?: () => Identity | undefined): McpHttp {
  return async (request, response, peer) => {
    const { method = "" } = request;
    if (!METHODS.includes(method))
      return void response.writeHead(405, { allow: METHODS.join(", "), "content-length": 0 }).end();
    const body = method === "POST" ? await readMessage(request) : { message: undefined };
    if (body === undefined) return;
    if ("error" in body) return refuse(response, body);
    // The door has checked the host name; the SDK only builds a URL from it that nobody reads, and fails on some names.
    request.headers.host = "localhost";
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
      const serve = toNodeHandler(handler, { maxRequestBodySize: FRAME_SIZE_MAX_BYTES });
      await serve(request as Parameters<typeof serve>[0], response, body.message);
    } finally {
      await handler.close();
    }
  };
}

type Refused = { status: 400 | 413; code: number; error: PalaceError };

/**
 * Reads the body by the rules of a line on the stream: bounded in bytes and depth, UTF-8. Its message is undefined for
 * an empty body; the whole result is undefined where the peer disconnected midway.
 */
async function readMessage(request: IncomingMessage): Promise<{ message: unknown } | Refused | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    // Leaving the loop must not close the connection, which the refusal still needs.
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      parts.push(part);
      size += part.length;
      if (size > FRAME_SIZE_MAX_BYTES) break;
    }
  } catch {
    return undefined;
  }
  if (size > FRAME_SIZE_MAX_BYTES) {
    const why = `a message may have ${FRAME_SIZE_MAX_BYTES} bytes`;
    const error = new PalaceError("TRANSPORT_FRAME_TOO_LARGE", why, "send less at once");
    return { status: 413, code: RPC.INVALID_REQUEST, error };
  }
  const decoded = decodeFrame(Buffer.concat(parts));
  if (decoded.ok) return { message: decoded.message };
  if (decoded.why === "") return { message: undefined };
  const error = new PalaceError("PROTOCOL_BAD_FRAME", decoded.why, "send one JSON-RPC message a request");
  return { status: 400, code: RPC.PARSE_ERROR, error };
}

/** Closes the connection: the rest of an oversized body is not read. */
function refuse(response: ServerResponse, { status, code, error }: Refused): void {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code, message: error.message, data: error.toWire() },
  });
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  response.writeHead(status, headers).end(body);
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
