/** Converts errors to JSON-RPC errors for an agent. */
import { PalaceError } from "../../base/errors.ts";
import { rpcErrorOf } from "../../protocol/rpc-error.ts";
import type { RpcError } from "../../protocol/spec.ts";

/** Converts an error. Appends the hint to the message, because agents read only the message. */
export function toRpcError(error: unknown): RpcError {
  const told = rpcErrorOf(error);
  const hint = error instanceof PalaceError ? error.hint : "";
  return hint === "" ? told : { ...told, message: `${told.message}; ${hint}` };
}
