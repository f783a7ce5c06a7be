/** Reads what a broker sends: one message, or the beginning of one that is too long. Used by link.ts. */
import type { RequestId, RpcResponse } from "../../protocol/spec.ts";
import { decodeFrame } from "../transport/frame.ts";

/** Returns undefined for bytes that no broker sends. */
export function toResponse(bytes: Buffer): RpcResponse | undefined {
  const decoded = decodeFrame(bytes);
  if (!decoded.ok || typeof decoded.message !== "object" || decoded.message === null) return undefined;
  const { error } = decoded.message as { error?: unknown };
  const isWell = error === undefined || (typeof error === "object" && error !== null);
  return isWell ? (decoded.message as RpcResponse) : undefined;
}

/** Returns the id of the call that a message answers, from the first bytes of the message; undefined if they name none. */
export function idInHead(head: Buffer): RequestId | undefined {
  const id = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),/.exec(head.toString("utf8"))?.[1];
  return id === undefined ? undefined : (JSON.parse(id) as RequestId);
}
