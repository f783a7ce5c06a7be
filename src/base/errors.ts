/** Table of all error codes, and the class of our errors. */

import { withoutPassword } from "./without-password.ts";

/** Meaning of each code, for docs/reference/errors.md. */
export const ERROR_CODES = {
  CONFIG_BAD_VALUE: "a setting has a value that cannot be used",
  CONFIG_PATH_TOO_LONG: "a socket path is longer than the kernel allows",
  CONFIG_USAGE: "the command line is wrong",
  TRANSPORT_REFUSED: "no broker answers at that endpoint",
  TRANSPORT_CLOSED: "the connection ended before the reply",
  TRANSPORT_TIMEOUT: "the broker did not answer in time",
  TRANSPORT_FRAME_TOO_LARGE: "one message is larger than the frame limit",
  TRANSPORT_SANDBOXED: "a sandbox does not let this process open sockets",
  TRANSPORT_SPOOL_FULL: "no broker can be reached, and the spool for waiting writes is full",
  PROTOCOL_BAD_FRAME: "a message is not UTF-8 JSON, or is nested too deep",
  PROTOCOL_BAD_PARAMS: "the parameters do not fit the method",
  PROTOCOL_UNKNOWN_METHOD: "the broker has no such method",
  PROTOCOL_VERSION_MISMATCH: "client and broker share no protocol version",
  PROTOCOL_KEY_REUSED: "a client sent an idempotency key again with other arguments",
  BROKER_BUSY: "the write queue is full",
  BROKER_SHUTTING_DOWN: "the broker is finishing its work before it ends, and takes no more calls",
  BROKER_STOPPED: "somebody stopped the broker by hand, so agents do not start it again",
  BROKER_START_FAILED: "a broker was started and did not become reachable",
  BROKER_DENIED: "the broker does not allow this client to do that",
  BROKER_CANCELLED: "the client cancelled the call, or disconnected, before it was done",
  PALACE_NOT_FOUND: "there is no palace in that folder",
  PALACE_GONE: "the palace directory or ledger vanished",
  PALACE_FOREIGN_MOUNT: "the palace is on a mount whose locks other machines do not see",
  PALACE_LOCKED: "another process is writing this palace",
  STORE_UNAVAILABLE: "a store does not answer for now",
  STORE_CORRUPT: "a store's file is damaged",
  STORE_DISK_FULL: "the disk is full; nothing was written",
  STORE_READ_ONLY: "the palace cannot be written; reads still work",
  STORE_MODEL_MISMATCH: "the palace was embedded with another model",
  ENGINE_UNAVAILABLE: "the engine's process does not run for now, so it did not get the call",
  ENGINE_CALL_LOST: "the engine's process ended during the call; the call may or may not be done",
  ENGINE_TIMEOUT: "the engine's process did not answer in time and was replaced; the call may or may not be done",
  ENGINE_UNSUPPORTED: "the engine in use cannot do that",
  FEEDER_SOURCE_UNREADABLE: "a source cannot be read",
  FEEDER_PARTIAL: "some sources were not filed",
} as const;

/** Name of an error: its family (the first word), which decides the exit code, and the reason. */
export type ErrorCode = keyof typeof ERROR_CODES;

type Family = "CONFIG" | "TRANSPORT" | "PROTOCOL" | "BROKER" | "PALACE" | "STORE" | "ENGINE" | "FEEDER";

/** Exit codes of every executable. Besides these, 70 means a broken invariant, and 130 means Ctrl-C. */
export const EXIT_CODES: Record<Family, number> = {
  CONFIG: 2,
  TRANSPORT: 3,
  PROTOCOL: 4,
  BROKER: 5,
  PALACE: 6,
  STORE: 7,
  FEEDER: 8,
  ENGINE: 9,
};

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  "TRANSPORT_REFUSED",
  "TRANSPORT_CLOSED",
  "TRANSPORT_TIMEOUT",
  "BROKER_BUSY",
  "BROKER_SHUTTING_DOWN",
  "STORE_UNAVAILABLE",
  "ENGINE_UNAVAILABLE",
  "FEEDER_PARTIAL",
]);

/** Details of an error. `cause`: the original error, which clients never get. `retryAfterMs`: wait before a retry. */
export type PalaceErrorOptions = { cause?: unknown; retryAfterMs?: number };

/** Content of `error.data` in a JSON-RPC answer. */
export type WireErrorData = { code: ErrorCode; hint: string; retryable: boolean; retryAfterMs?: number };

/** Class of all errors that we throw on purpose. `message`: one sentence. `hint`: next command or step, or empty. */
export class PalaceError extends Error {
  override readonly name = "PalaceError";
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, hint: string, options: PalaceErrorOptions = {}) {
    super(withoutPassword(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = withoutPassword(hint);
    this.retryAfterMs = options.retryAfterMs;
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }

  get exitCode(): number {
    return EXIT_CODES[this.code.slice(0, this.code.indexOf("_")) as Family];
  }

  toWire(): WireErrorData {
    const data: WireErrorData = { code: this.code, hint: this.hint, retryable: this.retryable };
    if (this.retryAfterMs !== undefined) data.retryAfterMs = this.retryAfterMs;
    return data;
  }
}

export const BAD_PARAMS_HINT = "see the --help of the command";

/** Returns the error for wrong parameters of a method. */
export function badParams(why: string): PalaceError {
  return new PalaceError("PROTOCOL_BAD_PARAMS", why, BAD_PARAMS_HINT);
}

/** Returns the error for a wrong command line. */
export function wrongUsage(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("CONFIG_USAGE", why, hint, { cause });
}

/** Returns the error for a setting or a file that cannot be used. */
export function badValue(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("CONFIG_BAD_VALUE", why, hint, { cause });
}

/** Returns the error for a source of documents or conversations that cannot be read. */
export function unreadable(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("FEEDER_SOURCE_UNREADABLE", why, hint, { cause });
}

/** Returns the error for a store, thread or service that does not answer for now. */
export function unavailable(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("STORE_UNAVAILABLE", why, hint, { cause });
}

/** Returns the error for a store with a damaged file. */
export function damaged(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("STORE_CORRUPT", why, hint, { cause });
}

/** Returns the error for a palace that cannot be written. */
export function unwritable(why: string, hint: string, cause?: unknown): PalaceError {
  return new PalaceError("STORE_READ_ONLY", why, hint, { cause });
}

/** Returns the error for a call that the client is not allowed to make. */
export function denied(why: string, hint: string): PalaceError {
  return new PalaceError("BROKER_DENIED", why, hint);
}

/** Returns the error for an idempotency key that an earlier call with other arguments has used. */
export function keyReused(): PalaceError {
  const why = "this idempotency key was used for another call";
  return new PalaceError("PROTOCOL_KEY_REUSED", why, "make a new key for each call");
}

/** Returns true for an error code of this table. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CODES, value);
}
