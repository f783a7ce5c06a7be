/** Helpers of both engines: they read a call's key, author and time, make error answers, and report calls to log and metrics. */
import { cut } from "../../base/shorten.ts";
import { isRecord } from "../../base/parse-json.ts";
import type { Log } from "../../base/log.ts";
import { PalaceError } from "../../base/errors.ts";
import { agentName, NAMELESS } from "../../protocol/agent-name.ts";
import { SPOOL_AGE_MAX_MS } from "../../protocol/limits.ts";
import { AUTHOR_META, IDEMPOTENCY_META, WRITTEN_META } from "../../protocol/headers.ts";
import { ERROR_TEXT_MAX, rpcErrorOf, RpcFailure } from "../../protocol/rpc-error.ts";
import type { RequestId, RpcError, RpcResponse } from "../../protocol/spec.ts";
import { type Peer, peerFields } from "../peer.ts";
import type { Metrics } from "./metrics.ts";

const KEY_MAX = 200;

export function requestId(id: unknown): RequestId | null {
  return typeof id === "string" || typeof id === "number" ? id : null;
}

export function failure(id: RequestId | null, error: RpcError): RpcResponse {
  return { jsonrpc: "2.0", id, error };
}

export function toRpcError(error: unknown): RpcError {
  const told = error instanceof RpcFailure ? error.error : rpcErrorOf(error);
  return { ...told, message: cut(told.message, ERROR_TEXT_MAX) };
}

/** Returns the call's idempotency key, if any. Errors: PROTOCOL_BAD_PARAMS. */
export function keyOf(params: Record<string, unknown>): string | undefined {
  const meta = isRecord(params["_meta"]) ? params["_meta"] : {};
  const given = meta[IDEMPOTENCY_META];
  if (given === undefined || (typeof given === "string" && given !== "" && given.length <= KEY_MAX)) return given;
  throw new PalaceError(
    "PROTOCOL_BAD_PARAMS",
    `the idempotency key must be a string of 1 to ${KEY_MAX} characters`,
    "make a new key for each call",
  );
}

/** Returns the peer's name, or the author's name from a spooled write. The name of the peer's token always stays in front. */
export function authorOf({ agent, token }: Peer, params: Record<string, unknown>): string {
  const given = isRecord(params["_meta"]) ? agentName(params["_meta"][AUTHOR_META]) : NAMELESS;
  if (given === NAMELESS) return agent;
  return token === undefined ? given : `${token}:${given}`;
}

/** Returns the time of the call: now, or when its client spooled it. Ignores a time in the future, or older than SPOOL_AGE_MAX_MS. */
export function writtenAtMs(params: Record<string, unknown>, nowMs: number): number {
  const given = isRecord(params["_meta"]) ? params["_meta"][WRITTEN_META] : undefined;
  const isPossible = Number.isSafeInteger(given) && Number(given) <= nowMs && nowMs - Number(given) <= SPOOL_AGE_MAX_MS;
  return isPossible ? Number(given) : nowMs;
}

/** `isRefused`: set if the answer says that the tool refused a write. */
export type Handled = { peer: Peer; requestId: string; label: string; startedAt: number; isRefused?: boolean };

/** Reports a call to metrics and log. `label` must be from a small set, because each label becomes a line of the metrics. */
export function report(
  { metrics, log }: { metrics: Metrics; log: Log },
  { peer, requestId: id, label, startedAt, isRefused = false }: Handled,
  error: unknown,
): void {
  const tookMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  metrics.count(label, tookMs, error === undefined && !isRefused);
  const fields = { requestId: id, method: label, tookMs, ...peerFields(peer) };
  if (error === undefined) log.debug(isRefused ? "request refused" : "request", fields);
  else if (error instanceof RpcFailure) log.info("request refused", { ...fields, why: error.message });
  else
    log.warn("request failed", {
      ...fields,
      code: error instanceof PalaceError ? error.code : "INTERNAL",
      why: String(error),
    });
}
