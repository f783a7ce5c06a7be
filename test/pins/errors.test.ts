/** Pins error codes and exit codes, because clients switch on them and scripts test for them. README.md says what a failing pin means. */
import { expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode, EXIT_CODES, PalaceError } from "../../src/base/errors.ts";
import { RPC } from "../../src/protocol/spec.ts";

test("the list of error codes is complete", () => {
  expect(Object.keys(ERROR_CODES)).toEqual([
    "CONFIG_BAD_VALUE",
    "CONFIG_PATH_TOO_LONG",
    "CONFIG_USAGE",
    "TRANSPORT_REFUSED",
    "TRANSPORT_CLOSED",
    "TRANSPORT_TIMEOUT",
    "TRANSPORT_FRAME_TOO_LARGE",
    "TRANSPORT_SANDBOXED",
    "TRANSPORT_SPOOL_FULL",
    "PROTOCOL_BAD_FRAME",
    "PROTOCOL_BAD_PARAMS",
    "PROTOCOL_UNKNOWN_METHOD",
    "PROTOCOL_VERSION_MISMATCH",
    "PROTOCOL_KEY_REUSED",
    "BROKER_BUSY",
    "BROKER_SHUTTING_DOWN",
    "BROKER_STOPPED",
    "BROKER_START_FAILED",
    "BROKER_DENIED",
    "BROKER_CANCELLED",
    "PALACE_NOT_FOUND",
    "PALACE_GONE",
    "PALACE_FOREIGN_MOUNT",
    "PALACE_LOCKED",
    "STORE_UNAVAILABLE",
    "STORE_CORRUPT",
    "STORE_DISK_FULL",
    "STORE_READ_ONLY",
    "STORE_MODEL_MISMATCH",
    "ENGINE_UNAVAILABLE",
    "ENGINE_CALL_LOST",
    "ENGINE_TIMEOUT",
    "ENGINE_UNSUPPORTED",
    "FEEDER_SOURCE_UNREADABLE",
    "FEEDER_PARTIAL",
  ]);
});

test("each error family has its exit code", () => {
  const families = { CONFIG: 2, TRANSPORT: 3, PROTOCOL: 4, BROKER: 5, PALACE: 6, STORE: 7, FEEDER: 8, ENGINE: 9 };
  expect(EXIT_CODES).toEqual(families);
  expect(new PalaceError("STORE_CORRUPT", "", "").exitCode).toBe(7);
});

test("the list of retryable error codes is complete", () => {
  const retryable = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => new PalaceError(code, "", "").retryable);
  expect(retryable).toEqual([
    "TRANSPORT_REFUSED",
    "TRANSPORT_CLOSED",
    "TRANSPORT_TIMEOUT",
    "BROKER_BUSY",
    "BROKER_SHUTTING_DOWN",
    "STORE_UNAVAILABLE",
    "ENGINE_UNAVAILABLE",
    "FEEDER_PARTIAL",
  ]);
});

test("an error on the wire has code, hint and a retry flag, but not its cause", () => {
  const error = new PalaceError("BROKER_BUSY", "full", "wait", { retryAfterMs: 5, cause: new Error("x") });
  expect(error.toWire()).toEqual({ code: "BROKER_BUSY", hint: "wait", retryable: true, retryAfterMs: 5 });
});

test("the JSON-RPC error numbers are pinned", () => {
  expect(RPC).toEqual({
    PARSE_ERROR: -32700,
    INVALID_REQUEST: -32600,
    METHOD_NOT_FOUND: -32601,
    INVALID_PARAMS: -32602,
    SERVER_ERROR: -32000,
    UNSUPPORTED_PROTOCOL_VERSION: -32022,
  });
});
