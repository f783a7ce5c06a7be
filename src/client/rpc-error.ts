/** Our own errors as an agent gets them where no broker answers in its words. */
import type { PalaceError } from "../protocol/errors.ts";
import { RPC, type RpcError } from "../protocol/spec.ts";

export function toRpcError(error: PalaceError): RpcError {
  const message = error.hint === "" ? error.message : `${error.message}; ${error.hint}`;
  return { code: RPC.SERVER_ERROR, message, data: error.toWire() };
}
