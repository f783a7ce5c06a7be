/** Tests the handshake with engine `command`, whose child process is MemPalace's own server. */
import { expect, test } from "vitest";
import { ChildDispatch } from "../../../src/broker/child/dispatch.ts";
import { RequestQueue } from "../../../src/broker/child/request-queue.ts";
import type { Supervisor } from "../../../src/broker/child/supervisor.ts";
import { ToolBook } from "../../../src/broker/child/tools.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { StatusReport } from "../../../src/protocol/spec.ts";

const CHILD_PID = 4711;
const SPOKEN = "2025-06-18";

/** Returns the answer to a request that the broker answers itself, without asking the child. */
async function request(method: string, params: object, pid = 1, childPid: number | undefined = CHILD_PID) {
  const { dispatch } = new ChildDispatch({
    queue: new RequestQueue({} as Supervisor, 1_000),
    tools: new ToolBook(),
    introduced: () => ({
      ...{ protocolVersion: SPOKEN, capabilities: {}, serverInfo: { name: "mempalace" }, tools: [] },
      instructions: undefined,
    }),
    childPid: () => childPid,
    metrics: new Metrics(),
    log: SILENT_LOG,
    status: () => ({}) as StatusReport,
    stop: () => {},
    pageLink: () => Promise.reject(new Error("no page")),
    ownFiles: {} as never,
  });
  const peer: Peer = { id: 1, agent: "a", door: "unix", role: "admin", uid: 0, pid, tools: "full" };
  return dispatch(peer, { jsonrpc: "2.0", id: 1, method, params }, 1, undefined);
}

async function initialize(protocolVersion?: string, pid?: number, childPid?: number) {
  return request("initialize", { protocolVersion }, pid, childPid);
}

test.each([
  ["an older revision", "2025-03-26", "2025-03-26"],
  ["the child's own", SPOKEN, SPOKEN],
  ["a newer revision", "2025-11-25", SPOKEN],
  ["an unknown revision", "2025-01-01", SPOKEN],
  ["no revision", undefined, "2024-11-05"],
])("a client that asks for %s gets an MCP revision that the child also speaks", async (_what, asked, got) => {
  expect(await initialize(asked)).toMatchObject({ result: { protocolVersion: got } });
});

test("the broker refuses a child that connects to the broker itself", async () => {
  expect(await initialize(SPOKEN, CHILD_PID)).toMatchObject({
    error: { message: "the engine's command is a client of this very broker", data: { code: "CONFIG_BAD_VALUE" } },
  });
});

test("the broker admits a client with an unknown process id", async () => {
  expect(await initialize(SPOKEN, 0, 0)).toMatchObject({ result: { protocolVersion: SPOKEN } });
});

test("a request with the name of a notification is refused and never reaches the child", async () => {
  expect(await request("notifications/initialized", {})).toMatchObject({ id: 1, error: { code: -32_601 } });
});
