/** The HTTP status of a failed call says whether the client or the server caused the failure (outcome-memory.md 4.3). */
import { expect, test } from "vitest";
import { refusalOf } from "../../../src/broker/outcome-api/refused.ts";
import { BAD_PARAMS_HINT, type ErrorCode, PalaceError } from "../../../src/base/errors.ts";

const asRpc = (code: ErrorCode, hint: string, options = {}) => {
  const error = new PalaceError(code, "it is so", hint, options);
  return { code: -32_000, message: error.message, data: error.toWire() };
};

test.each<[ErrorCode, number]>([
  ["BROKER_DENIED", 403],
  ["PROTOCOL_BAD_PARAMS", 422],
  ["PROTOCOL_KEY_REUSED", 422],
  ["TRANSPORT_FRAME_TOO_LARGE", 413],
  ["BROKER_BUSY", 503],
  ["STORE_DISK_FULL", 503],
  ["PALACE_GONE", 503],
  ["ENGINE_UNSUPPORTED", 503],
])("the error %s becomes the HTTP status %i with the hint in its detail", (code, status) => {
  expect(refusalOf(asRpc(code, "do that"))).toMatchObject({ status, detail: "it is so: do that", headers: {} });
});

test("the answer to a full queue says when to try again", () => {
  expect(refusalOf(asRpc("BROKER_BUSY", "", { retryAfterMs: 1_200 })).headers).toEqual({ "retry-after": "2" });
  expect(refusalOf(asRpc("PROTOCOL_BAD_PARAMS", BAD_PARAMS_HINT)).detail).toBe("it is so");
});

test("an internal error becomes 500 with its message as the detail", () => {
  const data = { error_class: "Error", message: "no such table" };
  const refusal = refusalOf({ code: -32_000, message: "Internal tool error", data });
  expect(refusal).toMatchObject({ status: 500, detail: "no such table" });
  expect(refusalOf({ code: -32_601, message: "Unknown method: x" })).toMatchObject({ status: 500 });
});
