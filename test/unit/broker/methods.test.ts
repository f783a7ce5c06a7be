/** A connection remembers its client's name, but forgets each request after the answer. */
import { queryObjects } from "node:v8";
import { expect, test } from "vitest";
import type { MethodsDependencies } from "../../../src/broker/dispatch/call.ts";
import { createDispatch } from "../../../src/broker/dispatch/methods.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import { withSpans } from "../../../src/broker/dispatch/traced.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { VERSION_META } from "../../../src/protocol/modern.ts";
import { CLIENT_INFO_META, UNNAMED_AGENT } from "../../../src/protocol/headers.ts";
import { MODERN_MCP_VERSION } from "../../../src/protocol/version.ts";

const dispatch = createDispatch({ metrics: new Metrics(), log: SILENT_LOG } as MethodsDependencies);
const unnamed = (): Peer => ({
  ...{ id: 1, agent: UNNAMED_AGENT, door: "unix", role: "admin", uid: 0, pid: 1, tools: "full" },
});

test("a connection takes its name from the client in the _meta of an MCP 2026-07-28 request", async () => {
  const peer = unnamed();
  const envelope = {
    [VERSION_META]: MODERN_MCP_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    [CLIENT_INFO_META]: { name: "codex", version: "1" },
  };
  await dispatch(peer, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: envelope } }, 10);
  expect(peer.agent).toBe("codex");
});

test("a connection keeps no request in memory after the answer", async () => {
  const peer = unnamed();
  const ping = (id: number): Promise<unknown> => dispatch(peer, { jsonrpc: "2.0", id, method: "ping" }, 10);
  await ping(0);
  const before = queryObjects(AbortController, { format: "count" });
  for (let id = 1; id <= 100; id++) await ping(id);
  expect(queryObjects(AbortController, { format: "count" }) - before).toBeLessThan(50);
});

test("without a tracer, withSpans(f) returns f itself", () => {
  expect(withSpans(dispatch)).toBe(dispatch);
});
