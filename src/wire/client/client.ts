/**
 * Typed client for feeders, the command line and other programs. Each call has an idempotency key, so a repeated call takes effect once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseJson, parseRecord } from "../../base/parse-json.ts";
import type { Config } from "../../config/config.ts";
import { newKey } from "../../base/ids.ts";
import { within } from "../../base/time-limit.ts";
import { type ErrorCode, isErrorCode, PalaceError, type WireErrorData } from "../../base/errors.ts";
import { parseTraceParent, TRACEPARENT_META } from "../../base/trace.ts";
import { REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import { IDEMPOTENCY_META } from "../../protocol/headers.ts";
import {
  type Health,
  type Json,
  type JsonObject,
  type MethodName,
  type Methods,
  RPC,
  type RpcError,
  type RpcResponse,
} from "../../protocol/spec.ts";
import { findTool } from "../../protocol/tools/table.ts";
import { findBroker } from "./discover.ts";
import { Link } from "./link.ts";

const CANCELLED = "notifications/cancelled";
const HAND_OVER_MAX_MS = 5_000;
const POLL_MS = 50;

/** Settings of a connection. `agent`: name for the journal. `start`: `auto` starts a broker if needed. `project`: the project's names. */
export type ConnectOptions = { config: Config; agent: string; start: "auto" | "never"; project?: readonly string[] };
/** Settings of one call. `key`: idempotency key. Pass the same key to repeat a write after TRANSPORT_TIMEOUT; the default is a new one. */
export type CallOptions = { key?: string; timeoutMs?: number };
/** Tool as `tools/list` shows it. `inputSchema`: a JSON Schema. */
export type ToolInfo = { name: string; description: string; inputSchema: JsonObject };

/** Connection to a palace's broker. It reconnects after a loss. Calls may overlap. */
export interface Client {
  /** Broker's state when the client connected. */
  readonly health: Health;
  /** Calls one of our own methods. Errors: PalaceError, from the broker or the transport. */
  call<M extends MethodName>(
    method: M,
    params: Methods[M]["params"],
    options?: CallOptions,
  ): Promise<Methods[M]["result"]>;
  /** Calls a tool by its full name. Errors: PalaceError, from the broker or the transport. */
  callTool(name: string, args: JsonObject, options?: CallOptions): Promise<Json>;
  /** Lists the tools of this client's tool profile. Errors: as `call`. */
  listTools(): Promise<ToolInfo[]>;
  /** Ends the connection; open calls get no answer. */
  close(): void;
}

/** Connects to a broker and reads its health. Errors: as ensureBroker; TRANSPORT_CLOSED. */
export async function connectClient({ config, agent, start, project = [] }: ConnectOptions): Promise<Client> {
  const waiting = new Map<number, (response: RpcResponse) => void>();
  const link = new Link({
    config,
    agent,
    start,
    project,
    onLine: (line) => {
      const response = parseRecord(line.toString()) as RpcResponse;
      if (typeof response.id === "number") waiting.get(response.id)?.(response);
    },
  });
  await link.connect();
  const found = await findSuccessor(config);
  if (found === undefined) {
    link.close();
    throw new PalaceError("TRANSPORT_CLOSED", "the broker ended just now", "repeat the command");
  }
  let lastId = 0;

  const request = async (method: string, params: object, timeoutMs: number): Promise<unknown> => {
    const id = ++lastId;
    const { promise, resolve } = Promise.withResolvers<RpcResponse>();
    waiting.set(id, resolve);
    try {
      link.send(id, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      const response = await within(promise, timeoutMs);
      if (response === undefined) {
        // The link must not send this call again, because the caller may repeat it with another key.
        link.cancel(id, JSON.stringify({ jsonrpc: "2.0", method: CANCELLED, params: { requestId: id } }));
        throw noAnswer(method, timeoutMs);
      }
      if ("error" in response) throw toPalaceError(response.error);
      return response.result;
    } finally {
      waiting.delete(id);
    }
  };
  const { traceparent } = config;
  const traced = parseTraceParent(traceparent) === undefined ? {} : { [TRACEPARENT_META]: traceparent };
  const keyed = (options: CallOptions): { _meta: JsonObject } => ({
    _meta: { [IDEMPOTENCY_META]: options.key ?? newKey(), ...(traced as JsonObject) },
  });

  return {
    health: found.health,
    call: async (method, params, options = {}) =>
      (await request(method, { ...params, ...keyed(options) }, options.timeoutMs ?? REQUEST_TIMEOUT_MS)) as never,
    callTool: async (name, args, options = {}) => {
      const params = { name, arguments: args, ...keyed(options) };
      const usualMs = findTool(name)?.timeoutMs ?? REQUEST_TIMEOUT_MS;
      return toolValue(name, await request("tools/call", params, options.timeoutMs ?? usualMs));
    },
    listTools: async () => ((await request("tools/list", {}, REQUEST_TIMEOUT_MS)) as { tools: ToolInfo[] }).tools,
    close: () => link.close(),
  };
}

/** Connects, calls `use` and closes the client. Errors: as connectClient, and the errors of `use`. */
export async function withClient<T>(options: ConnectOptions, use: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectClient(options);
  return use(client).finally(() => client.close());
}

function noAnswer(method: string, timeoutMs: number): PalaceError {
  const message = `${method} got no answer within ${timeoutMs / 1000} s`;
  return new PalaceError("TRANSPORT_TIMEOUT", message, "run `palace status`");
}

/** Finds the broker that just answered, or its successor. Waits, because no broker answers while a new one replaces the old one. */
async function findSuccessor(config: Config): ReturnType<typeof findBroker> {
  for (const deadline = performance.now() + HAND_OVER_MAX_MS; ; await sleep(POLL_MS)) {
    const found = await findBroker(config);
    if (found !== undefined || performance.now() > deadline) return found;
  }
}

/** Decodes a tool's value. The value of a tool that answers in sentences is `{ text, isError? }`. Errors: PROTOCOL_BAD_FRAME. */
export function toolValue(name: string, result: unknown): Json {
  const { content, isError } = result as { content: { text: string }[]; isError?: true };
  const text = content[0]?.text ?? "null";
  if (findTool(name)?.surface === "outcome") return { text, ...(isError && { isError }) };
  const value = parseJson(text);
  if (value === undefined)
    throw new PalaceError("PROTOCOL_BAD_FRAME", `the answer of ${name} is not JSON`, "palace doctor");
  return value as Json;
}

/** Converts an error in an answer. An error without one of our codes gets our code with the same meaning. */
export function toPalaceError({ code, message, data }: RpcError): PalaceError {
  const wire = (data ?? {}) as Partial<WireErrorData>;
  const options = wire.retryAfterMs === undefined ? {} : { retryAfterMs: wire.retryAfterMs };
  if (isErrorCode(wire.code)) {
    const hint = wire.hint ?? "";
    // Removes the hint that rpc-error.ts has appended to the message for agents.
    const said = hint !== "" && message.endsWith(`; ${hint}`) ? message.slice(0, -hint.length - 2) : message;
    return new PalaceError(wire.code, said, hint, options);
  }
  const detail = (data as { message?: unknown } | undefined)?.message;
  const text = typeof detail === "string" ? `${message}: ${detail}` : message;
  const known: ErrorCode = code === RPC.METHOD_NOT_FOUND ? "PROTOCOL_UNKNOWN_METHOD" : "PROTOCOL_BAD_PARAMS";
  const other = known === "PROTOCOL_UNKNOWN_METHOD" ? "; a broker of another version: `palace restart`" : "";
  return new PalaceError(known, text, `run \`palace call tools\` for names and parameters${other}`);
}
