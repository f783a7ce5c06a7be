/**
 * Route table: answers one JSON-RPC message of a peer. All doors use it; it does not use sockets. It answers MCP's methods as upstream does
 * (palace.md 2.2–2.4). Our own methods are in own-methods.ts.
 */
import { randomUUID } from "node:crypto";
import { asTyped } from "../../memory/text/validate.ts";
import { isWriteMethod } from "../tools/writes.ts";
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { VERSION } from "../../base/version.ts";
import { PalaceError } from "../../base/errors.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { introduction } from "../../protocol/introduction.ts";
import { REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import { LISTS_TTL_MS, modernResult, readEnvelope } from "../../protocol/modern.ts";
import { type RequestId, RPC, type RpcError } from "../../protocol/spec.ts";
import { toolsOf } from "../../protocol/tools/profile.ts";
import { isRefusedResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool } from "../../protocol/tools/table.ts";
import { negotiateMcpVersion, SERVER_NAME } from "../../protocol/version.ts";
import type { Dispatch } from "../engine.ts";
import { nameAfter, type Peer } from "../peer.ts";
import { failure, type Handled, report, requestId, toRpcError } from "./answers.ts";
import type { Call, Handler, MethodsDependencies } from "./call.ts";
import { OWN_METHODS } from "./own-methods.ts";
import { assertAllowed, roleFor, roleForTool } from "./permissions.ts";
import { ReadTurns } from "./read-turns.ts";
import { callTool } from "./tool-call.ts";
import { offer, OFFERED } from "../../protocol/offers.ts";
import { rememberPrompt, wakeUpPrompt } from "../../protocol/prompts.ts";
import { drawerIdIn, WAKE_UP_URI } from "../../protocol/resources.ts";

const MCP: Readonly<Record<string, Handler>> = {
  initialize: (_dependencies, { peer, params }) => {
    nameAfter(peer, params["clientInfo"]);
    peer.revision = negotiateMcpVersion(params["protocolVersion"]);
    return introduction(params["protocolVersion"], VERSION);
  },
  ping: () => ({}),
  "tools/list": (_dependencies, { peer }) => ({ tools: toolsOf(peer.tools, peer.revision) }),
  "tools/call": callTool,
};

const HANDLERS = new Map<string, Handler>([...Object.entries(MCP), ...Object.entries(OWN_METHODS)]);
/** Methods of MCP 2026-07-28. This revision has no handshake, but has resources and prompts. */
const MODERN_HANDLERS = new Map<string, Handler>([
  ...OFFERED.map((method): [string, Handler] => [method, (_, { peer }) => offer(method, peer.tools)]),
  ["tools/call", callTool],
  ["resources/read", readResource],
  ["prompts/get", getPrompt],
]);
const MODERN = { serverInfo: { name: SERVER_NAME, version: VERSION }, ttlMs: LISTS_TTL_MS };

export function createDispatch(dependencies: MethodsDependencies): Dispatch {
  const writes = new WeakMap<Peer, Promise<unknown>>();
  const underWay = new WeakMap<Peer, Map<RequestId, AbortController>>();
  const turns = { palace: new ReadTurns(), log: new ReadTurns() };
  return async (peer, message, sizeBytes, notify) => {
    if (!isRecord(message)) return failure(null, { code: RPC.INVALID_REQUEST, message: "Invalid Request" });
    const id = requestId(message["id"]);
    const method = typeof message["method"] === "string" ? message["method"] : "";
    // A message with an id is a request, whatever its method: its client waits for an answer.
    if (method.startsWith("notifications/") && message["id"] === undefined) {
      if (method === "notifications/cancelled") cancel(underWay.get(peer), message["params"]);
      return undefined;
    }
    const params = isRecord(message["params"]) ? message["params"] : {};
    const found = handlerFor(peer, message, method, params);
    // A response or an unknown notification gets no answer.
    if ("error" in found) return message["id"] === undefined ? undefined : failure(id, found.error);
    const { handler, isModern } = found;
    const controller = new AbortController();
    const mine = underWay.get(peer) ?? new Map<RequestId, AbortController>();
    underWay.set(peer, mine);
    if (id !== null) mine.set(id, controller);
    const tool = method === "tools/call" ? findTool(params["name"]) : undefined;
    const timeoutMs = tool?.timeoutMs ?? REQUEST_TIMEOUT_MS;
    const timer = setTimeout(() => controller.abort(tooLate(method, timeoutMs)), timeoutMs);
    const call: Call = {
      ...{ peer, params, isModern, sizeBytes, notify, turns },
      requestId: randomUUID().slice(0, 8),
      signal: controller.signal,
      earlierWrites: writes.get(peer),
    };
    const handled = handledCall(call, labelOf(method, params, tool));
    try {
      const isWriting = tool === undefined ? isWriteMethod(method) : tool.kind === "write";
      assertAllowed(peer, tool === undefined ? roleFor(method) : roleForTool(tool, params["arguments"]));
      const answering = Promise.resolve(handler(dependencies, call));
      if (isWriting)
        writes.set(
          peer,
          Promise.allSettled([call.earlierWrites, answering]).then(() => undefined),
        );
      const result = await unlessAborted(answering, controller.signal, isWriting);
      report(dependencies, { ...handled, isRefused: isWriting && isRefusedResult(result) }, undefined);
      return { jsonrpc: "2.0", id, result: isModern ? modernResult(method, result, MODERN) : result };
    } catch (thrown) {
      const error = dependencies.typedError(thrown);
      report(dependencies, handled, error);
      // By MCP's rule a cancelled request gets no answer.
      if (error instanceof Cancelled) return undefined;
      return failure(id, toRpcError(Object.hasOwn(OWN_METHODS, method) ? asTyped(error) : error));
    } finally {
      clearTimeout(timer);
      if (id !== null && mine.get(id) === controller) mine.delete(id);
    }
  };
}

/** Finds the handler in the table of the request's MCP revision. */
function handlerFor(
  peer: Peer,
  message: Record<string, unknown>,
  method: string,
  params: Record<string, unknown>,
): { handler: Handler; isModern: boolean } | { error: RpcError } {
  const envelope = readEnvelope(method, params);
  if (envelope !== undefined && "error" in envelope) return envelope;
  const isModern = envelope !== undefined;
  if (isModern) nameAfter(peer, envelope.clientInfo);
  const handler = (isModern ? MODERN_HANDLERS : HANDLERS).get(method);
  if (handler !== undefined) return { handler, isModern };
  return { error: { code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${nameOrType(message["method"])}` } };
}

/** Reason with which a request is aborted if its client cancels it. */
class Cancelled extends Error {}

function cancel(underWay: Map<RequestId, AbortController> | undefined, params: unknown): void {
  const id = isRecord(params) ? requestId(params["requestId"]) : null;
  if (id !== null) underWay?.get(id)?.abort(new Cancelled("cancelled by the client"));
}

function tooLate(method: string, timeoutMs: number): PalaceError {
  return new PalaceError(
    "TRANSPORT_TIMEOUT",
    `${method} was not done within ${timeoutMs / 1000} s`,
    "try again later; run `palace status`",
  );
}

/** Ends the wait when the call is aborted, except for a write: a client must not hear that a finished write was cancelled. */
function unlessAborted<T>(answering: Promise<T>, signal: AbortSignal, isWriting: boolean): Promise<T> {
  if (isWriting) return answering;
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  return Promise.race([answering, promise]);
}

/** Returns a string unchanged, and for another value the name of its Python type, as upstream does. */
function nameOrType(method: unknown): string {
  if (typeof method === "string") return cut(method);
  let type = typeof method === "boolean" ? "bool" : "dict";
  if (method === undefined || method === null) type = "NoneType";
  else if (Array.isArray(method)) type = "list";
  else if (typeof method === "number") type = Number.isInteger(method) ? "int" : "float";
  return `expected a string, got ${type}`;
}

function handledCall({ peer, requestId: id }: Call, label: string): Handled {
  return { peer, requestId: id, label, startedAt: performance.now() };
}

/** Returns the metrics' label of a request. The set of labels is small, whatever a peer sends. */
function labelOf(method: string, params: Record<string, unknown>, tool: Tool | undefined): string {
  if (tool !== undefined) return tool.fullName;
  return method === "tools/call" && typeof params["name"] === "string" ? "unknown" : method;
}

async function readResource(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { uri } = call.params;
  if (typeof uri !== "string") throw badParams("'uri' is required for resources/read");
  const text = uri === WAKE_UP_URI ? await storyOf(dependencies, call, {}) : await drawerAt(dependencies, call, uri);
  if (text === undefined)
    throw new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Resource not found: ${uri}`, data: { uri } });
  return { contents: [{ uri, mimeType: "text/plain", text }] };
}

async function drawerAt(dependencies: MethodsDependencies, call: Call, uri: string): Promise<string | undefined> {
  const id = drawerIdIn(uri);
  if (id === undefined) return undefined;
  const shown = (await OWN_METHODS["drawer.show"](dependencies, { ...call, params: { id } })) as
    | { found: true; drawer: { content: string } }
    | { found: false };
  return shown.found ? shown.drawer.content : undefined;
}

async function storyOf(dependencies: MethodsDependencies, call: Call, params: Call["params"]): Promise<string> {
  const { story } = (await OWN_METHODS["palace.wakeUp"](dependencies, { ...call, params })) as { story: string };
  return story;
}

async function getPrompt(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { name } = call.params;
  const given = isRecord(call.params["arguments"]) ? call.params["arguments"] : {};
  const textOf = (key: string): string | undefined => {
    const value = given[key];
    if (value === undefined || typeof value === "string") return value;
    throw badParams(`'${key}' must be a string`);
  };
  if (name === "remember") return rememberPrompt(textOf("what"), call.peer.tools);
  if (name !== "wake-up") throw badParams(`no prompt is named ${JSON.stringify(cut(String(name)))}`);
  const wing = textOf("wing");
  return wakeUpPrompt(await storyOf(dependencies, call, wing === undefined || wing === "" ? {} : { wing }));
}

function badParams(why: string): RpcFailure {
  return new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Invalid params: ${why}` });
}
