import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Starts a shim and does an agent's MCP handshake with it. */
function agent(palace: TestPalace, name: string) {
  const child = spawn(process.execPath, [palace.executable("mp-shim")], { env: palace.env });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let id = 0;
  const request = async (method: string, params: object): Promise<void> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params })}\n`);
    await lines.next();
  };
  return {
    initialize: () =>
      request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } }),
    add: (content: string) =>
      request("tools/call", { name: "mempalace_add_drawer", arguments: { wing: "w", room: "r", content } }),
    end: async () => {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

test("the journal has the agent's name for a shim without a configured name, also after the broker was killed", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  const [claude, opencode] = [agent(palace, "claude-code"), agent(palace, "opencode\r\nX: y")];
  for (const one of [claude, opencode]) await one.initialize();
  await claude.add("one");
  await opencode.add("two");
  broker.kill("SIGKILL");
  await claude.add("three");
  const client = await palace.client();
  await client.call("palace.status", {});
  client.close();
  await Promise.all([claude.end(), opencode.end()]);
  const journaled = (): unknown => {
    const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
    try {
      return ledger.prepare("SELECT agent FROM journal ORDER BY seq").pluck().all();
    } finally {
      ledger.close();
    }
  };
  await expect.poll(journaled).toEqual(["claude-code", "opencodeX: y", "claude-code"]);
});

test("the handshake tells a model briefly when to search and when to file", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const shim = await palace.shim();
  const said = (await shim.request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: {},
  })) as {
    instructions: string;
  };
  expect(said.instructions).toMatch(/mempalace_search.*mempalace_add_drawer/s);
  expect(said.instructions.length).toBeLessThan(800);
  await shim.close();
});
