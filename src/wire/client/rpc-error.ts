/** Converts our own errors to JSON-RPC errors, for an agent without a broker. */
import { PalaceError } from "../../base/errors.ts";
import { RPC, type RpcError } from "../../protocol/spec.ts";

/** Returns the error as it crosses the wire. An error that is not ours becomes upstream's `Internal tool error`. */
export function toRpcError(error: unknown): RpcError {
  if (!(error instanceof PalaceError)) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { code: RPC.SERVER_ERROR, message: "Internal tool error", data: { error_class: name, message } };
  }
  const message = error.hint === "" ? error.message : `${error.message}; ${error.hint}`;
  return { code: RPC.SERVER_ERROR, message, data: error.toWire() };
}
