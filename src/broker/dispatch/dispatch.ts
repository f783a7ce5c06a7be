/** Answers one JSON-RPC message of a peer, for all doors: checks role and arguments, then runs the tool or queues the write. */
import { randomUUID } from "node:crypto";
import { redactAnswer } from "../../memory/text/redact.ts";
import { asTyped } from "../../memory/text/validate.ts";
import { isLogWrite } from "../../mempalace/events/log-tools.ts";
import { needsFindings, prepareWrite, runReadTool } from "../tools/reads.ts";
import { FACT_WRITES, isWriteMethod, type WriteMethod } from "../tools/writes.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import { VERSION } from "../../base/version.ts";
import { PalaceError } from "../../base/errors.ts";
import type { WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import { ERROR_TEXT_MAX, RpcFailure } from "../../protocol/rpc-error.ts";
import { REPLAYED_META } from "../../protocol/headers.ts";
import { REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import { LISTS_TTL_MS, modernResult, readEnvelope } from "../../protocol/modern.ts";
import { type RequestId, RPC, type RpcError } from "../../protocol/spec.ts";
import { PROOF_WING } from "../../protocol/status.ts";
import { checkArguments } from "../../protocol/tools/arguments.ts";
import { isRefusal, isRefusedResult, toolResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool, type ToolsWith } from "../../protocol/tools/table.ts";
import { SERVER_NAME } from "../../protocol/version.ts";
import type { Dispatch } from "../engine.ts";
import { filesFor } from "../file-access.ts";
import { nameAfter, type Peer, peerFields } from "../peer.ts";
import { authorOf, failure, type Handled, keyOf, report, requestId, toRpcError, writtenAtMs } from "./answers.ts";
import {
  type Call,
  type Handler,
  inTurn,
  type MethodsDependencies,
  type OpenPalace,
  palaceAfterWrites,
} from "./call.ts";
import { assertAllowed, isOwnMethod, roleFor, roleForTool } from "./permissions.ts";
import { ReadTurns } from "./read-turns.ts";

/** Handlers by method: `usual` for clients with a handshake, `modern` for requests of MCP 2026-07-28. */
export type Methods = Readonly<Record<"usual" | "modern", ReadonlyMap<string, Handler>>>;

const MODERN = { serverInfo: { name: SERVER_NAME, version: VERSION }, ttlMs: LISTS_TTL_MS };

export function dispatchOver(methods: Methods, dependencies: MethodsDependencies): Dispatch {
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
    const found = handlerFor(methods, peer, message, method, params);
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
    const label = labelOf(method, params, tool);
    const handled: Handled = { peer, requestId: call.requestId, label, startedAt: performance.now() };
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
      return failure(id, toRpcError(isOwnMethod(method) ? asTyped(error) : error));
    } finally {
      clearTimeout(timer);
      if (id !== null && mine.get(id) === controller) mine.delete(id);
    }
  };
}

function handlerFor(
  { usual, modern }: Methods,
  peer: Peer,
  message: Record<string, unknown>,
  method: string,
  params: Record<string, unknown>,
): { handler: Handler; isModern: boolean } | { error: RpcError } {
  const envelope = readEnvelope(method, params);
  if (envelope !== undefined && "error" in envelope) return envelope;
  const isModern = envelope !== undefined;
  if (isModern) nameAfter(peer, envelope.clientInfo);
  const handler = (isModern ? modern : usual).get(method);
  if (handler !== undefined) return { handler, isModern };
  return { error: { code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${nameOrType(message["method"])}` } };
}

/** Answers `tools/call` as upstream does (palace.md 2.3, 2.4): checks the arguments, runs the tool, masks secrets. */
export async function callTool(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { name, arguments: given } = call.params;
  const refuse = (why: string): RpcFailure =>
    new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Invalid params: ${why}` });
  if (name === undefined) throw refuse("'name' is required for tools/call");
  if (typeof name !== "string" || (given !== undefined && given !== null && !isRecord(given)))
    throw refuse("'name' must be a string and 'arguments' an object");
  const tool = findTool(name);
  // MCP 2026-07-28 requires INVALID_PARAMS; MemPalace answers older clients with METHOD_NOT_FOUND.
  const unknown = call.isModern ? RPC.INVALID_PARAMS : RPC.METHOD_NOT_FOUND;
  if (tool === undefined) throw new RpcFailure({ code: unknown, message: `Unknown tool: ${cut(name)}` });
  const checked = checkArguments(tool, given);
  if (!checked.ok) throw new RpcFailure(checked.error);
  const { value, replayed } = await carryOut(tool, checked.values, call, dependencies);
  if (tool.name === "search" && checked.values["wing"] !== PROOF_WING) dependencies.metrics.usage.countSearch(value);
  const masked = tool.isMasked ? await redactAnswer(value, dependencies.redact) : value;
  const result = toolResult(tool, bounded(masked), call.isModern);
  return replayed ? { ...result, _meta: { [REPLAYED_META]: true } } : result;
}

async function carryOut(
  tool: Tool,
  values: Values,
  call: Call,
  dependencies: MethodsDependencies,
): Promise<{ value: unknown; replayed: boolean }> {
  if (tool.kind === "write") return submit(dependencies, tool.name, values, call);
  if (tool.keeper === "broker") {
    const palace = await palaceAfterWrites(dependencies, call);
    return { value: await BROKER_TOOLS[tool.name](palace, values, call, dependencies), replayed: false };
  }
  const turns = call.turns[tool.keeper === "log" ? "log" : "palace"];
  const value = await inTurn(dependencies, call, turns, (palace) => read(tool, values, palace, call, dependencies));
  return { value, replayed: false };
}

/** Prepares a write if needed, queues it and waits for its outcome. */
export async function submit(
  dependencies: MethodsDependencies,
  method: ToolsWith<{ kind: "write" }> | WriteMethod,
  params: Record<string, unknown>,
  call: Call,
  /** Values that the write needs but that must not be in the journal. */
  beside?: unknown,
): Promise<{ value: unknown; replayed: boolean }> {
  const { peer, params: outer, requestId, sizeBytes, signal } = call;
  const given = keyOf(outer);
  const agent = authorOf(peer, outer);
  const palace = await (needsFindings(method) ? palaceAfterWrites(dependencies, call) : dependencies.ready());
  let findings = beside;
  let giveBack = (): void => {};
  if (needsFindings(method)) {
    const own = palace.reads.searches.of(agent);
    giveBack = own.giveBack;
    const files = filesFor(peer, palace.reads.files, dependencies.openedRoots);
    // A write runs even if its preparation fails: a duplicate drawer is better than a lost drawer.
    findings = await prepareWrite({ ...palace.reads, files, own }, method, params).catch(() => undefined);
  }
  const { door, uid, pid } = peer;
  const arrivedAtMs = Date.now();
  const write: WriteCall = {
    key: given ?? randomUUID(),
    isRepeatable: given !== undefined,
    method,
    params,
    peer: { agent, door, uid, pid },
    requestId,
    atMs: writtenAtMs(outer, arrivedAtMs),
    arrivedAtMs,
    ...(findings !== undefined && { findings }),
  };
  if (write.atMs !== arrivedAtMs) {
    const fields = { requestId, method, claimedAtMs: write.atMs, author: agent, ...peerFields(peer) };
    dependencies.log.info("write dated by its client", fields);
  }
  faultPoint("admit.before-queue");
  const queue = isLogWrite(method) ? palace.logstream.queue : palace.queue;
  const { outcome, replayed } = await unlessStored(() => queue.submit(peer.id, write, sizeBytes, signal), giveBack);
  // Waits until MemPalace's graph file has the fact. A repeated call does not wait: the previous broker may have died in this wait.
  if (FACT_WRITES.has(method) && outcome.ok && !replayed && queue.depth === 0) await palace.reads.graph.sent();
  faultPoint("acknowledge.before-reply");
  if (!outcome.ok) throw new RpcFailure(outcome.error);
  if (write.atMs !== arrivedAtMs && !replayed && !isRefusal(outcome.value))
    dependencies.metrics.usage.add("writesLate");
  return { value: outcome.value, replayed };
}

/** Submits a write, and calls `undo` if the write stores nothing (busy, refused, repeated). */
async function unlessStored(submitted: () => Promise<WriteOutcome>, undo: () => void): Promise<WriteOutcome> {
  let isStored = false;
  try {
    const { outcome, replayed } = await submitted();
    isStored = outcome.ok && !replayed && !isRefusal(outcome.value);
    return { outcome, replayed };
  } finally {
    if (!isStored) undo();
  }
}

type Values = Record<string, unknown>;
type BrokerTool = (palace: OpenPalace, values: Values, call: Call, dependencies: MethodsDependencies) => unknown;

const BROKER_TOOLS: Readonly<Record<ToolsWith<{ keeper: "broker" }>, BrokerTool>> = {
  event_wait: ({ logstream }, values, { peer, signal }) => logstream.wait(peer.id, values, signal),
  mesh_peers: ({ logstream, reads }) => {
    const drawers = reads.isFounded() ? reads.reader.drawerCount() : null;
    return logstream.mesh({ drawers, embedder: reads.embedder()?.identity.id ?? null });
  },
  mine: (_palace, values, call, { mines }) => mines.mine(values, call.peer, call.signal, progressOf(call)),
};

function read(
  { keeper, name }: Exclude<Tool & { kind: "read" }, { keeper: "broker" }>,
  values: Values,
  palace: OpenPalace,
  call: Call,
  dependencies: MethodsDependencies,
): unknown {
  if (keeper === "log") return palace.logstream.read(name, values);
  const files = filesFor(call.peer, palace.reads.files, dependencies.openedRoots);
  const { agent, project = [] } = call.peer;
  return runReadTool({ ...palace.reads, files, project, own: palace.reads.searches.of(agent) }, name, values);
}

/** Returns a function that reports progress to a client that asked for it. */
function progressOf({ params, notify }: Call): (done: number, total: number, name: string) => void {
  const token = isRecord(params["_meta"]) ? params["_meta"]["progressToken"] : undefined;
  if (notify === undefined || requestId(token) === null) return () => {};
  return (progress, total, message) =>
    notify("notifications/progress", { progressToken: token, progress, total, message });
}

/** Shortens a refusal, because it may quote a long argument. */
function bounded(value: unknown): unknown {
  return isRecord(value) && typeof value["error"] === "string"
    ? { ...value, error: cut(value["error"], ERROR_TEXT_MAX) }
    : value;
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

/** Shortens a string. For any other value, names the value's Python type, as upstream does. */
function nameOrType(method: unknown): string {
  if (typeof method === "string") return cut(method);
  let type = typeof method === "boolean" ? "bool" : "dict";
  if (method === undefined || method === null) type = "NoneType";
  else if (Array.isArray(method)) type = "list";
  else if (typeof method === "number") type = Number.isInteger(method) ? "int" : "float";
  return `expected a string, got ${type}`;
}

/** Returns the metrics' label of a request. The set of labels is small, whatever a peer sends. */
function labelOf(method: string, params: Record<string, unknown>, tool: Tool | undefined): string {
  if (tool !== undefined) return tool.fullName;
  return method === "tools/call" && typeof params["name"] === "string" ? "unknown" : method;
}
