/** Route table of a child engine: answers MCP's handshake and ping, and forwards other requests to the child with new request ids. */
import { randomUUID } from "node:crypto";
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import type { Log } from "../../base/log.ts";
import { badValue, PalaceError } from "../../base/errors.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { ENVELOPE_KEYS, readEnvelope } from "../../protocol/modern.ts";
import { AUTHOR_META, IDEMPOTENCY_META, REPLAYED_META, WRITTEN_META } from "../../protocol/headers.ts";
import { type RequestId, RPC } from "../../protocol/spec.ts";
import { isRefusedResult } from "../../protocol/tools/result.ts";
import { MCP_VERSIONS } from "../../protocol/version.ts";
import { failure, keyOf, report, requestId, toRpcError } from "../dispatch/answers.ts";
import { assertAllowed, isOwnMethod, roleFor } from "../dispatch/permissions.ts";
import type { Metrics } from "../dispatch/metrics.ts";
import type { Dispatch, EngineHost, Notify } from "../engine.ts";
import { nameAfter, type Peer } from "../peer.ts";
import { asModern, asModernError, discoveredChild, isPassedOn } from "./modern.ts";
import type { Call, RequestQueue } from "./request-queue.ts";
import { Replays } from "./replays.ts";
import type { Introduction, Notification } from "./session.ts";
import type { ToolBook } from "./tools.ts";

export type ChildDispatchOptions = EngineHost & {
  queue: RequestQueue;
  tools: ToolBook;
  /** Returns the child's introduction (name, version, tools). Waits if no child has introduced itself yet. Errors: ENGINE_UNAVAILABLE. */
  introduced: () => Introduction | Promise<Introduction>;
  /** Pid of the child, which must not be a client of this broker. */
  childPid: () => number | undefined;
  metrics: Metrics;
  log: Log;
};

const BUILTIN = "MEMPALACE_ENGINE=builtin palace restart";
const MINE = `use the engine's own miner: palace call mine '{"source":"DIR"}' (MemPalace 3.11), or palace stop, mempalace mine DIR, palace start`;
const COMPRESS = "palace stop, mempalace compress, palace start";

/** Commands to type instead of methods that need the builtin engine. The key is the method's name or the part before its dot. */
const INSTEAD: Readonly<Record<string, string>> = {
  "drawer.search": `palace call search '{"query":"WORDS"}'`,
  "drawer.show": `palace call get_drawer '{"drawer_id":"ID"}'`,
  "drawer.places": "palace call get_taxonomy",
  "drawer.list": `palace call list_drawers '{"wing":"WING"}'`,
  "drawer.reveal": `palace call get_drawer '{"drawer_id":"ID"}'`,
  "closet.compressPreview": COMPRESS,
  "closet.compress": COMPRESS,
  ...{ source: MINE, conversation: MINE, message: MINE, closet: MINE, link: MINE },
  ...{ memory: BUILTIN, backup: BUILTIN, turn: BUILTIN, book: BUILTIN, fact: BUILTIN, outcome: BUILTIN, ui: BUILTIN },
  ...{ job: BUILTIN, "palace.stats": BUILTIN },
  "token.list": "palace bridge token list",
  "token.revoke": "palace bridge token revoke NAME",
  "spool.list": "palace status spool",
  "spool.sendAgain": "palace status spool replay",
};

/** Methods that the metrics count under their own names, besides those of INSTEAD. All others count as `other`. */
const METHODS = ["initialize", "server/discover", "ping", "tools/list", "tools/call", "palace.status", "broker.stop"];

export class ChildDispatch {
  readonly #options: ChildDispatchOptions;
  readonly #replays = new Replays<Call>();
  readonly #listeners = new Map<number, Notify>();

  constructor(options: ChildDispatchOptions) {
    this.#options = options;
  }

  leave(peerId: number): void {
    this.#listeners.delete(peerId);
    this.#options.queue.leave(peerId);
  }

  broadcast({ method, params }: Notification): void {
    for (const notify of this.#listeners.values()) notify(method, params);
  }

  readonly dispatch: Dispatch = async (peer, message, sizeBytes, notify) => {
    if (!isRecord(message)) return failure(null, { code: RPC.INVALID_REQUEST, message: "Invalid Request" });
    const { method } = message;
    // A response needs no handling: the broker sends no requests to peers.
    if (typeof method !== "string") return undefined;
    const params = isRecord(message["params"]) ? message["params"] : {};
    if (method.startsWith("notifications/")) {
      // With an id it is a request. The child would answer none, and later calls would wait for it.
      const asked = requestId(message["id"]);
      if (asked !== null)
        return failure(asked, { code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${cut(method)}` });
      const taken = method === "notifications/cancelled" ? requestId(params["requestId"]) : null;
      if (taken !== null) this.#options.queue.cancel(peer.id, taken);
      return undefined;
    }
    if (method === "initialize" && notify !== undefined) this.#listeners.set(peer.id, notify);
    const id = requestId(message["id"]);
    const envelope = readEnvelope(method, params);
    if (envelope !== undefined && "error" in envelope) return failure(id, envelope.error);
    if (envelope !== undefined) nameAfter(peer, envelope.clientInfo);
    const handled = {
      peer,
      requestId: randomUUID().slice(0, 8),
      label: this.#label(method, params),
      startedAt: performance.now(),
    };
    try {
      const request = { id, params, sizeBytes, notify };
      const result = await (envelope === undefined
        ? this.#answer(peer, method, request)
        : this.#answerModern(peer, method, request));
      const isRefused = this.#options.tools.isWrite(method, params) && isRefusedResult(result);
      report(this.#options, { ...handled, isRefused }, undefined);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      report(this.#options, handled, error);
      const told = toRpcError(error);
      return failure(id, envelope === undefined ? told : asModernError(told));
    }
  };

  /** Answers a request of MCP 2026-07-28, which the child does not speak. */
  async #answerModern(peer: Peer, method: string, request: Request): Promise<unknown> {
    const isDiscovery = method === "server/discover";
    if (!isDiscovery && !isPassedOn(method))
      throw new RpcFailure({ code: RPC.METHOD_NOT_FOUND, message: `Unknown method: ${cut(method)}` });
    const introduction = this.#options.introduced();
    // Awaits only if needed: an `await` would let the client's next message, such as a cancellation, overtake this call.
    const child = introduction instanceof Promise ? await introduction : introduction;
    const result = isDiscovery ? discoveredChild(child) : await this.#answer(peer, method, request);
    return asModern(method, result, child);
  }

  async #answer(peer: Peer, method: string, request: Request): Promise<unknown> {
    const { childPid, introduced, status, stop, tools } = this.#options;
    const { params } = request;
    if (peer.pid !== 0 && peer.pid === childPid())
      throw badValue(
        "the engine's command is a client of this very broker",
        "MEMPALACE_ENGINE must name MemPalace's own mempalace-mcp, by its full path: ours has the same name",
      );
    if (method === "initialize") return introduce(await introduced(), params["protocolVersion"]);
    if (method === "ping") return {};
    if (method === "palace.status") return status();
    if (method === "broker.stop") {
      assertAllowed(peer, roleFor(method));
      stop();
      return { stopping: true };
    }
    assertSupported(method);
    // The child's tools tell which calls are writes. Awaits only if needed, so that no later cancellation overtakes this call.
    const introduction = introduced();
    if (introduction instanceof Promise) await introduction;
    const isWrite = tools.isWrite(method, params);
    assertAllowed(peer, isWrite ? "agent" : roleFor(method));
    return this.#forward(peer, method, request, isWrite);
  }

  async #forward(peer: Peer, method: string, request: Request, isWrite: boolean): Promise<unknown> {
    const { params, sizeBytes } = request;
    const key = isWrite && method === "tools/call" ? keyOf(params) : undefined;
    const first = key === undefined ? undefined : this.#replays.find(key, params);
    if (first !== undefined) {
      // The peer that made the first call may be gone, so the call now belongs to the peer that repeats it.
      Object.assign(first.call, { peerId: peer.id, id: request.id } satisfies Partial<Call>);
      return markReplayed(await first.outcome);
    }
    const call: Call = { peerId: peer.id, id: request.id, method, isWrite, ...forChild(params, request.notify) };
    const outcome = this.#options.queue.submit(call, sizeBytes);
    if (key !== undefined) this.#replays.keep(key, params, call, outcome);
    return outcome;
  }

  #label(method: string, params: Record<string, unknown>): string {
    const name = method === "tools/call" ? params["name"] : undefined;
    if (typeof name === "string") return this.#options.tools.has(name) ? name : "unknown";
    return METHODS.includes(method) || insteadOf(method) !== undefined ? method : "other";
  }
}

/** Refuses methods of the builtin engine. Errors: ENGINE_UNSUPPORTED, with the command to use instead. */
function assertSupported(method: string): void {
  const instead = insteadOf(method);
  if (instead === undefined) return;
  throw new PalaceError("ENGINE_UNSUPPORTED", `${method} needs the builtin engine, and another one is in use`, instead);
}

function insteadOf(method: string): string | undefined {
  return isOwnMethod(method) ? (INSTEAD[method] ?? INSTEAD[method.split(".", 1)[0] ?? ""]) : undefined;
}

type Request = { id: RequestId | null; params: Record<string, unknown>; sizeBytes: number; notify: Notify | undefined };

/** Answers the handshake with the child's capabilities and server info, including unknown fields, and with its instructions. */
function introduce(child: Introduction, asked: unknown): object {
  const { capabilities, serverInfo, instructions } = child;
  return {
    protocolVersion: negotiate(asked, child.protocolVersion),
    capabilities,
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  };
}

/** Negotiates the version by MCP's rule, but never a newer version than the child speaks. */
function negotiate(asked: unknown, spoken: string): string {
  const wish = asked ?? MCP_VERSIONS.at(-1);
  const known = MCP_VERSIONS.find((version) => version === wish);
  return known === undefined || known > spoken ? spoken : known;
}

/** Returns the parameters without the broker's own fields, and a handler that forwards progress under the client's own token. */
function forChild(params: Record<string, unknown>, notify: Notify | undefined): Pick<Call, "params" | "onProgress"> {
  if (!isRecord(params["_meta"])) return { params, onProgress: undefined };
  const {
    [IDEMPOTENCY_META]: _key,
    [WRITTEN_META]: _atMs,
    [AUTHOR_META]: _author,
    progressToken,
    ...more
  } = params["_meta"];
  const meta = Object.fromEntries(Object.entries(more).filter(([key]) => !ENVELOPE_KEYS.includes(key)));
  const { _meta, ...rest } = params;
  const isAsked = notify !== undefined && requestId(progressToken) !== null;
  return {
    params: Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta },
    onProgress: isAsked ? (progress) => notify("notifications/progress", { ...progress, progressToken }) : undefined,
  };
}

function markReplayed(result: unknown): unknown {
  if (!isRecord(result)) return result;
  const meta = isRecord(result["_meta"]) ? result["_meta"] : {};
  return { ...result, _meta: { ...meta, [REPLAYED_META]: true } };
}
