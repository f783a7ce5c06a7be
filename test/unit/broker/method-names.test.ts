/** The answer to a `method` that is not a string uses the words of MemPalace 3.11, which name the Python type. */
import { expect, test } from "vitest";
import type { MethodsDependencies } from "../../../src/broker/dispatch/call.ts";
import { createDispatch } from "../../../src/broker/dispatch/methods.ts";
import type { Peer } from "../../../src/broker/peer.ts";

const peer: Peer = { id: 1, agent: "test", door: "unix", role: "admin", uid: 0, pid: 1, tools: "full" };
const dispatch = createDispatch({ typedError: (error) => error } as MethodsDependencies);

test.each([
  [5, "int"],
  [0.5, "float"],
  [true, "bool"],
  [null, "NoneType"],
  [undefined, "NoneType"],
  [["tools/list"], "list"],
  [{}, "dict"],
])("the method %j is refused with: expected a string, got %s", async (method, type) => {
  const error = { code: -32601, message: `Unknown method: expected a string, got ${type}` };
  expect(await dispatch(peer, { jsonrpc: "2.0", id: 1, method }, 10)).toEqual({ jsonrpc: "2.0", id: 1, error });
});

test("the error for an unknown method repeats the method's name", async () => {
  const error = { code: -32601, message: "Unknown method: 5" };
  expect(await dispatch(peer, { jsonrpc: "2.0", id: 1, method: "5" }, 10)).toEqual({ jsonrpc: "2.0", id: 1, error });
  expect(await dispatch(peer, { jsonrpc: "2.0", method: 5 }, 10)).toBeUndefined();
});
