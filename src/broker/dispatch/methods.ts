/**
 * The route table: one JSON-RPC message of a peer → its answer. The same for every door; knows no sockets.
 * MCP's methods as upstream answers them (palace.md 2.2–2.4); our own are in own-methods.ts.
 */
import { randomUUID } from "node:crypto";
import { isLogRead } from "../../engine/events/log-tools.ts";
import { redactAnswer } from "../../engine/text/redact.ts";
import { asTyped } from "../../engine/text/validate.ts";
import { isWrite } from "../../engine/tools/apply.ts";
import { checkArguments } from "../../engine/tools/arguments.ts";
import { runReadTool } from "../../engine/tools/read-tools.ts";
import { cut } from "../../platform/cut.ts";
import { isRecord } from "../../platform/is-record.ts";
import { VERSION } from "../../platform/version.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { introduction } from "../../protocol/introduction.ts";
import { EVENT_WAIT_GIVEN_UP_MS, REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import { type RequestId, REPLAYED_META, RPC } from "../../protocol/spec.ts";
import { toolsOf } from "../../protocol/tools/profile.ts";
import { findTool, TOOL_PREFIX } from "../../protocol/tools/table.ts";
import type { Dispatch } from "../engine.ts";
import { nameAfter, type Peer } from "../peer.ts";
import { filesFor } from "../places.ts";
import { ERROR_TEXT_MAX, failure, report, requestId, RpcFailure, toRpcError } from "./answers.ts";
import type { Call, Handler, MethodsDependencies } from "./call.ts";
import { OWN_METHODS } from "./own-methods.ts";
import { assertAllowed } from "./permissions.ts";
import { submit } from "./submit.ts";

const MINE = `${TOOL_PREFIX}mine`;
const MESH_PEERS = `${TOOL_PREFIX}mesh_peers`;
const EVENT_WAIT = `${TOOL_PREFIX}event_wait`;

const MCP: Readonly<Record<string, Handler>> = {
  initialize: (_dependencies, { peer, params }) => {
    nameAfter(peer, params["clientInfo"]);
    return introduction(params["protocolVersion"], VERSION);
  },
  ping: () => ({}),
  "tools/list": (_dependencies, { peer }) => ({ tools: toolsOf(peer.tools) }),
  "tools/call": callTool,
};

const HANDLERS = new Map<string, Handler>([...Object.entries(MCP), ...Object.entries(OWN_METHODS)]);

export function createDispatch(dependencies: MethodsDependencies): Dispatch {
  const writes = new WeakMap<Peer, Promise<unknown>>();
  const underWay = new WeakMap<Peer, Map<RequestId, AbortController>>();
  return async (peer, message, sizeBytes, notify) => {
    if (!isRecord(message)) return failure(null, { code: RPC.INVALID_REQUEST, message: "Invalid Request" });
    const id = requestId(message["id"]);
    const method = typeof message["method"] === "string" ? message["method"] : "";
    // With an id it is a request, whatever its name: somebody waits for the answer.
    if (method.startsWith("notifications/") && message["id"] === undefined) {
      if (method === "notifications/cancelled") cancel(underWay.get(peer), message["params"]);
      return undefined;
    }
    const handler = HANDLERS.get(method);
    if (handler === undefined) {
      // A response, or a notification we do not know, wants no answer.
      if (message["id"] === undefined) return undefined;
      return failure(id, { code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${nameOrType(message["method"])}` });
    }
    const params = isRecord(message["params"]) ? message["params"] : {};
    const controller = new AbortController();
    const mine = underWay.get(peer) ?? new Map<RequestId, AbortController>();
    underWay.set(peer, mine);
    if (id !== null) mine.set(id, controller);
    const timeoutMs = params["name"] === EVENT_WAIT ? EVENT_WAIT_GIVEN_UP_MS : REQUEST_TIMEOUT_MS;
    const timer = setTimeout(() => controller.abort(tooLate(method, timeoutMs)), timeoutMs);
    const call: Call = {
      peer,
      params,
      requestId: randomUUID().slice(0, 8),
      sizeBytes,
      signal: controller.signal,
      notify,
      earlierWrites: writes.get(peer),
    };
    const startedAt = performance.now();
    try {
      const isWriting = isWriteCall(method, params);
      assertAllowed(peer, method, isWriting || changesMore(params));
      const answering = Promise.resolve(handler(dependencies, call));
      if (isWriting)
        writes.set(
          peer,
          Promise.allSettled([call.earlierWrites, answering]).then(() => undefined),
        );
      const result = await unlessAborted(answering, controller.signal, isWriting);
      report(dependencies, { peer, requestId: call.requestId, label: labelOf(method, params), startedAt }, undefined);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      report(dependencies, { peer, requestId: call.requestId, label: labelOf(method, params), startedAt }, error);
      // As MCP has it: who takes a request back wants no answer.
      if (error instanceof Cancelled) return undefined;
      return failure(id, toRpcError(Object.hasOwn(OWN_METHODS, method) ? asTyped(error) : error));
    } finally {
      clearTimeout(timer);
      if (id !== null && mine.get(id) === controller) mine.delete(id);
    }
  };
}

/** The client took its request back. */
class Cancelled extends Error {}

function cancel(underWay: Map<RequestId, AbortController> | undefined, params: unknown): void {
  const id = isRecord(params) ? requestId(params["requestId"]) : null;
  if (id !== null) underWay?.get(id)?.abort(new Cancelled("taken back by the client"));
}

function tooLate(method: string, timeoutMs: number): PalaceError {
  return new PalaceError(
    "TRANSPORT_TIMEOUT",
    `${method} was not done within ${timeoutMs / 1000} s`,
    "repeat it in a while; run `palace status`",
  );
}

/** A write that is being committed is waited for: whoever asked must not hear "no" of what is done. */
function unlessAborted<T>(answering: Promise<T>, signal: AbortSignal, isWriting: boolean): Promise<T> {
  if (isWriting) return answering;
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  return Promise.race([answering, promise]);
}

/** A method that is no string is named by its Python type, as upstream does. */
function nameOrType(method: unknown): string {
  if (typeof method === "string") return cut(method);
  let type = typeof method === "boolean" ? "bool" : "dict";
  if (method === undefined || method === null) type = "NoneType";
  else if (Array.isArray(method)) type = "list";
  else if (typeof method === "number") type = Number.isInteger(method) ? "int" : "float";
  return `expected a string, got ${type}`;
}

function labelOf(method: string, params: Record<string, unknown>): string {
  return method === "tools/call" && typeof params["name"] === "string"
    ? findTool(params["name"]) !== undefined
      ? params["name"]
      : "unknown"
    : method;
}

function isWriteCall(method: string, params: Record<string, unknown>): boolean {
  if (method !== "tools/call") return isWrite(method);
  return typeof params["name"] === "string" && isWrite(params["name"].slice(TOOL_PREFIX.length));
}

/** Outside the ledger: how the hooks save, the notice of a checkpoint, which is shown once; and what reads this machine's files. */
function changesMore({ name, arguments: given }: Record<string, unknown>): boolean {
  if (name === "mempalace_memories_filed_away" || name === MINE) return true;
  return name === "mempalace_hook_settings" && isRecord(given) && Object.keys(given).length > 0;
}

async function callTool(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { name, arguments: given } = call.params;
  const refuse = (why: string): RpcFailure =>
    new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Invalid params: ${why}` });
  if (name === undefined) throw refuse("'name' is required for tools/call");
  if (typeof name !== "string" || (given !== undefined && given !== null && !isRecord(given)))
    throw refuse("'name' must be a string and 'arguments' an object");
  const tool = findTool(name);
  if (tool === undefined) throw new RpcFailure({ code: RPC.METHOD_NOT_FOUND, message: `Unknown tool: ${cut(name)}` });
  const checked = checkArguments(tool, given);
  if (!checked.ok) throw new RpcFailure(checked.error);

  const short = name.slice(TOOL_PREFIX.length);
  if (isWrite(short)) {
    const outcome = await submit(dependencies, short, checked.values, call);
    return toolResult(redactAnswer(outcome.value, dependencies.redact), outcome.replayed);
  }
  await call.earlierWrites;
  const { reads, logstream } = await dependencies.ready();
  if (name === EVENT_WAIT) {
    const found = await logstream.wait(call.peer.id, checked.values, call.signal);
    return toolResult(redactAnswer(found, dependencies.redact), false);
  }
  if (isLogRead(short)) {
    const found = await logstream.read(short, checked.values);
    // An artifact is what it was, to the byte: a patch with stars in it fits nowhere.
    return toolResult(short === "artifact_get" ? found : redactAnswer(found, dependencies.redact), false);
  }
  if (name === MESH_PEERS) {
    const drawers = reads.isFounded() ? reads.reader.drawerCount() : null;
    return toolResult(await logstream.mesh({ drawers, embedder: reads.embedder()?.identity.id ?? null }), false);
  }
  if (name === MINE) {
    const answer = await dependencies.mines.mine(checked.values, call.peer, call.signal, progressOf(call));
    return toolResult(answer, false);
  }
  const files = filesFor(call.peer, reads.files, dependencies.openedRoots);
  const answer = await runReadTool({ ...reads, files }, name, checked.values);
  return toolResult(redactAnswer(answer?.value, dependencies.redact), false);
}

/** To a client that wants to hear of it. */
function progressOf({ params, notify }: Call): (done: number, total: number, name: string) => void {
  const token = isRecord(params["_meta"]) ? params["_meta"]["progressToken"] : undefined;
  if (notify === undefined || requestId(token) === null) return () => {};
  return (progress, total, message) =>
    notify("notifications/progress", { progressToken: token, progress, total, message });
}

function toolResult(value: unknown, replayed: boolean): unknown {
  // A refusal may quote what it refuses.
  const bounded =
    isRecord(value) && typeof value["error"] === "string"
      ? { ...value, error: cut(value["error"], ERROR_TEXT_MAX) }
      : value;
  const content = [{ type: "text", text: JSON.stringify(bounded, null, 2) }];
  return replayed ? { content, _meta: { [REPLAYED_META]: true } } : { content };
}
