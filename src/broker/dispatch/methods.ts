/**
 * The route table: one JSON-RPC message of a peer → its answer. The same for every door; knows no sockets.
 * MCP's methods as upstream answers them (palace.md 2.2–2.4), our `noun.verb` methods beside them.
 */
import { randomUUID } from "node:crypto";
import { previewCompressed } from "../../engine/closet/compress.ts";
import { findLogical, drawerPayload } from "../../engine/drawer/logical.ts";
import { essentialStory, NO_PALACE, WAKE_UP_ROWS_MAX } from "../../engine/drawer/wake-up.ts";
import { readAudit, readSelector } from "../../engine/hygiene/hygiene.ts";
import { isLogRead } from "../../engine/events/log-tools.ts";
import { searchTool } from "../../engine/search/search-tool.ts";
import { sourceList } from "../../engine/source/source-list.ts";
import { redact as mask, redactAnswer, type RedactMode } from "../../engine/text/redact.ts";
import { asTyped } from "../../engine/text/validate.ts";
import { isWrite } from "../../engine/tools/apply.ts";
import { checkArguments } from "../../engine/tools/arguments.ts";
import { runReadTool, type ReadContext, withArrival } from "../../engine/tools/read-tools.ts";
import { toolsOf } from "../../engine/tools/tool-profile.ts";
import { findTool, TOOL_PREFIX } from "../../engine/tools/tool-table.ts";
import { cut } from "../../platform/cut.ts";
import { isRecord } from "../../platform/is-record.ts";
import type { Log } from "../../platform/log.ts";
import { VERSION } from "../../platform/version.ts";
import { BAD_PARAMS_HINT, PalaceError } from "../../protocol/errors.ts";
import { introduction } from "../../protocol/introduction.ts";
import { EVENT_WAIT_GIVEN_UP_MS, REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import {
  type MethodName,
  type RequestId,
  REPLAYED_META,
  RPC,
  type SearchMode,
  type StatusReport,
} from "../../protocol/spec.ts";
import type { Dispatch, Notify } from "../engine.ts";
import type { MineJobs } from "../mine/jobs.ts";
import type { Jobs } from "../palace/jobs.ts";
import type { Logstream } from "../palace/logstream.ts";
import { type Maintenance, readJobRequest } from "../palace/maintenance.ts";
import type { Hygiene } from "../palace/palace.ts";
import type { WriteQueue } from "../palace/queue.ts";
import { nameAfter, type Peer, peerFields } from "../peer.ts";
import { assertAllowed, ERROR_TEXT_MAX, failure, report, requestId, RpcFailure, toRpcError } from "./answers.ts";
import type { Metrics } from "./metrics.ts";
import { submit } from "./submit.ts";

export type MethodsDependencies = {
  /** Resolves when the palace is open. Errors: why it is not. */
  ready: () => Promise<
    Readonly<{
      reads: ReadContext;
      queue: WriteQueue;
      jobs: Jobs;
      maintenance: Maintenance;
      hygiene: Hygiene;
      logstream: Logstream;
    }>
  >;
  mines: MineJobs;
  status: () => StatusReport;
  stop: (options: { sticky: boolean }) => void;
  /** When names and topics join, by the settings of this machine. */
  linkRules: () => { hallwayMin: number | undefined; topicsMin: number | undefined };
  /** Folders of this machine that agents of others may learn of. */
  openedRoots: readonly string[];
  /** Secrets in what tools answer. */
  redact: RedactMode;
  metrics: Metrics;
  log: Log;
};

export type Call = {
  peer: Peer;
  params: Record<string, unknown>;
  requestId: string;
  sizeBytes: number;
  /** The client has taken the request back, or it takes too long. */
  signal: AbortSignal;
  notify: Notify | undefined;
  /** The writes this peer sent before; a read waits for them, so that a client always sees what it wrote. */
  earlierWrites: Promise<unknown> | undefined;
};
type Handler = (dependencies: MethodsDependencies, call: Call) => unknown;

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

const OURS: Readonly<Record<MethodName, Handler>> = {
  "palace.status": ({ status }) => status(),
  "source.list": async ({ ready }, { params, earlierWrites }) => {
    await earlierWrites;
    const { reads } = await ready();
    return sourceList(reads.reader, stringOf(params, "wing"), params);
  },
  "source.replace": (dependencies, call) => write(dependencies, "source.replace", call),
  "source.part": (dependencies, call) => write(dependencies, "source.part", call),
  "source.remove": (dependencies, call) => write(dependencies, "source.remove", call),
  "conversation.replace": (dependencies, call) => write(dependencies, "conversation.replace", call),
  "closet.sources": async ({ ready }, { params, earlierWrites }) => {
    await earlierWrites;
    const wing = params["wing"] === undefined ? undefined : stringOf(params, "wing");
    return { sources: (await ready()).reads.reader.closets.minedSources(wing) };
  },
  "closet.rebuild": (dependencies, call) => write(dependencies, "closet.rebuild", call),
  "closet.compressPreview": async ({ ready, redact }, { params, earlierWrites }) => {
    await earlierWrites;
    return redactAnswer(previewCompressed((await ready()).reads.reader, params), redact);
  },
  "closet.compress": (dependencies, call) => write(dependencies, "closet.compress", call),
  // What the miner's machine does not say, ours does.
  "link.rebuild": async (dependencies, call) => {
    const { _meta, ...params } = call.params;
    return (await submit(dependencies, "link.rebuild", params, call, dependencies.linkRules())).value;
  },
  "message.add": (dependencies, call) => write(dependencies, "message.add", call),
  "drawer.search": async ({ ready, redact }, { params, earlierWrites }) => {
    await earlierWrites;
    stringOf(params, "query");
    const { reads } = await ready();
    return redactAnswer(withArrival(reads, await searchTool(reads, params, searchMode(params["mode"]))), redact);
  },
  "palace.wakeUp": async ({ ready, redact }, { params, earlierWrites }) => {
    await earlierWrites;
    const { reader, arriving, isFounded } = (await ready()).reads;
    if (!isFounded()) return { story: arriving?.() ?? NO_PALACE };
    const wing = params["wing"] === undefined ? undefined : stringOf(params, "wing");
    // Drawer by drawer: of a secret that the story cuts, no shape would be known in the middle of it.
    const clean = (text: string): string => mask(text, redact).text;
    const story = essentialStory(reader.newestDrawers(wing, WAKE_UP_ROWS_MAX), clean);
    return redactAnswer({ story }, redact);
  },
  "job.start": async ({ ready }, { peer, params }) => {
    const { _meta, ...given } = params;
    const request = readJobRequest(given, peer);
    const { jobs, maintenance } = await ready();
    return jobs.start(request.kind, request, () => maintenance.begin(request));
  },
  "palace.health": async ({ ready }) => (await ready()).maintenance.lookThrough(),
  "job.list": async ({ ready }) => ({ jobs: await (await ready()).jobs.list() }),
  "job.cancel": async ({ ready }, { params }) => (await ready()).jobs.cancel(stringOf(params, "id")),
  "drawer.reveal": async ({ ready, log }, { peer, params, requestId, earlierWrites }) => {
    await earlierWrites;
    const id = stringOf(params, "id");
    const drawer = findLogical((await ready()).reads.reader, id);
    log.info("drawer revealed", { requestId, id, found: drawer !== undefined, ...peerFields(peer) });
    return drawer === undefined ? { found: false } : { found: true, drawer: drawerPayload(drawer) };
  },
  "memory.forgetPreview": async ({ ready }, { params, earlierWrites }) => {
    await earlierWrites;
    return (await ready()).hygiene.previewForget(readSelector(params).selector);
  },
  // The journal must not learn what is to be forgotten: it goes beside the call.
  "memory.forget": async (dependencies, call) => {
    const { journalled, selector } = readSelector(call.params);
    return (await submit(dependencies, "memory.forget", journalled, call, selector)).value;
  },
  "memory.erasure": async ({ ready }, { params, earlierWrites }) => {
    await earlierWrites;
    const waitMs = typeof params["waitMs"] === "number" ? params["waitMs"] : 0;
    return (await ready()).hygiene.erased(Math.min(waitMs, REQUEST_TIMEOUT_MS / 2));
  },
  "memory.undoPreview": async ({ ready }, { params, earlierWrites }) => {
    await earlierWrites;
    return (await ready()).hygiene.previewUndo(params);
  },
  "memory.undo": (dependencies, call) => write(dependencies, "memory.undo", call),
  "memory.audit": async ({ ready, redact }, { params, earlierWrites }) => {
    await earlierWrites;
    return redactAnswer((await ready()).hygiene.audit(readAudit(params)), redact);
  },
  "broker.stop": ({ stop }, { params }) => {
    stop({ sticky: params["sticky"] === true });
    return { stopping: true };
  },
};

const HANDLERS = new Map<string, Handler>([...Object.entries(MCP), ...Object.entries(OURS)]);

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
      return failure(id, toRpcError(Object.hasOwn(OURS, method) ? asTyped(error) : error));
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
    ? (findTool(params["name"])?.name ?? "unknown")
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
  const checked = checkArguments(name, tool.inputSchema, given);
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
  const answer = await runReadTool(reads, name, checked.values);
  return toolResult(redactAnswer(answer?.value, dependencies.redact), false);
}

/** To a client that wants to hear of it. */
function progressOf({ params, notify }: Call): (done: number, total: number, name: string) => void {
  const token = isRecord(params["_meta"]) ? params["_meta"]["progressToken"] : undefined;
  if (notify === undefined || requestId(token) === null) return () => {};
  return (progress, total, message) =>
    notify("notifications/progress", { progressToken: token, progress, total, message });
}

async function write(dependencies: MethodsDependencies, method: MethodName, call: Call): Promise<unknown> {
  const { _meta, ...params } = call.params;
  return (await submit(dependencies, method, params, call)).value;
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

function stringOf(params: Record<string, unknown>, key: string): string {
  const value = params[key];
  if (typeof value === "string") return value;
  throw new PalaceError("PROTOCOL_BAD_PARAMS", `${key} must be a string`, BAD_PARAMS_HINT);
}

function searchMode(value: unknown): SearchMode {
  const mode = value ?? "auto";
  if (mode === "auto" || mode === "lexical" || mode === "vector" || mode === "hybrid") return mode;
  throw new PalaceError(
    "PROTOCOL_BAD_PARAMS",
    "mode is none of auto, lexical, vector, hybrid",
    "leave it out for auto",
  );
}
