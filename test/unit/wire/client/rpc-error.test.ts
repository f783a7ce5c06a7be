/** Tests the JSON-RPC errors that the client makes itself when no broker answers. */
import { expect, test } from "vitest";
import { toRpcError } from "../../../../src/wire/client/rpc-error.ts";
import { PalaceError } from "../../../../src/base/errors.ts";

test("an error's hint follows its message", () => {
  const error = new PalaceError("TRANSPORT_REFUSED", "no broker answers", "palace doctor");
  expect(toRpcError(error)).toMatchObject({
    code: -32000,
    message: "no broker answers; palace doctor",
    data: { code: "TRANSPORT_REFUSED" },
  });
});

test("an error without a hint is described only by its message", () => {
  expect(toRpcError(new PalaceError("TRANSPORT_CLOSED", "the connection ended", "")).message).toBe(
    "the connection ended",
  );
});

test("the answer to an unexpected error has the error's class and message", () => {
  expect(toRpcError(new TypeError("x is undefined"))).toEqual({
    code: -32000,
    message: "Internal tool error",
    data: { error_class: "TypeError", message: "x is undefined" },
  });
});
