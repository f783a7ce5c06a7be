/** Tests that the broker does not listen on Roampal's port while another server has the port, and reports which server that is. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { OpenDoor } from "../../../src/broker/door/door.ts";
import { OUTCOME_HOST, OutcomeDoor } from "../../../src/broker/life/outcome-door.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let server: Server;
afterEach(() => void server.close());

/** Returns the report for a server that answers with this status, these headers and this body. */
async function reported(status: number, headers: Record<string, string>, body: unknown): Promise<unknown> {
  server = createServer((_request, response) => response.writeHead(status, headers).end(JSON.stringify(body)));
  await once(server.listen(0, OUTCOME_HOST), "listening");
  const { port } = server.address() as AddressInfo;
  const door = new OutcomeDoor({
    ...{ port, path: "/nowhere.sock", isLocal: true, tokens: () => 0, log: SILENT_LOG },
    open: async () => ({ peers: 0, close: async () => {} }) as OpenDoor,
  });
  await door.open();
  await door.close();
  const report = door.report();
  return { ...report, why: "why" in report && report.why.replace(`port ${port} is taken: `, "") };
}

test.each([
  ["Roampal", 200, {}, { memory_initialized: true }, "a Roampal server"],
  [
    "another broker",
    ...[200, {}, { service: "palace-devbox", pid: 7, data_path: "/p", memory_initialized: true }],
    'a palace broker of another memory (pid 7, "/p")',
  ],
  [
    "another broker that asks for a token",
    ...[401, { "www-authenticate": "Bearer, Palace" }, null],
    "a palace broker of another memory, which asks for a token",
  ],
  ["any other server", 404, {}, [], "an HTTP server that is not a palace broker (GET /api/health: 404)"],
] as [string, number, Record<string, string>, unknown, string][])(
  "the report names the owner of a taken port: %s",
  async (_whose, status, headers, body, why) => {
    expect(await reported(status, headers, body)).toMatchObject({ state: "shut", why });
  },
);
