/** Converts our own errors to JSON-RPC errors, for an agent without a broker. */
import { PalaceError } from "../../base/errors.ts";
import { rpcErrorOf } from "../../protocol/rpc-error.ts";
import type { RpcError } from "../../protocol/spec.ts";

/** Returns the error in its JSON-RPC form, with the hint behind the message. */
export function toRpcError(error: unknown): RpcError {
  const told = rpcErrorOf(error);
  const hint = error instanceof PalaceError ? error.hint : "";
  return hint === "" ? told : { ...told, message: `${told.message}; ${hint}` };
}
