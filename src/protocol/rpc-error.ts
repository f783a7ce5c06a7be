/** Turns any error into the form of JSON-RPC. Separate from spec.ts, because the build bundles only spec.ts for other programs. */
import { PalaceError } from "../base/errors.ts";
import { cut } from "../base/shorten.ts";
import { RPC, type RpcError } from "./spec.ts";

/** Maximum length of an error's text, characters: an error may quote a peer's message, but not all of it. */
export const ERROR_TEXT_MAX = 4_000;

/** JSON-RPC error with its own number and text: upstream's, a child's, or a refusal. */
export class RpcFailure extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}

/** Returns an error in the form that is sent to the client. An error that is not ours becomes upstream's `Internal tool error`. */
export function rpcErrorOf(error: unknown): RpcError {
  if (error instanceof PalaceError) return { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() };
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const data = { error_class: name, message: cut(message, ERROR_TEXT_MAX) };
  return { code: RPC.SERVER_ERROR, message: "Internal tool error", data };
}
