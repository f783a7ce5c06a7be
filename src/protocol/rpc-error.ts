/** Converts errors to JSON-RPC errors. Separate from spec.ts, because other programs get spec.ts alone. */
import { PalaceError } from "../base/errors.ts";
import { cut } from "../base/shorten.ts";
import { RPC, type RpcError } from "./spec.ts";

/** Maximum length of an error's text, characters. The text may quote a peer's long message. */
export const ERROR_TEXT_MAX = 4_000;

/** Carries a JSON-RPC error that the client gets unchanged. */
export class RpcFailure extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}

/** Converts any thrown value. Unknown errors become `Internal tool error`, as in upstream. */
export function rpcErrorOf(error: unknown): RpcError {
  if (error instanceof PalaceError) return { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() };
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const data = { error_class: name, message: cut(message, ERROR_TEXT_MAX) };
  return { code: RPC.SERVER_ERROR, message: "Internal tool error", data };
}
