/** Tests the broker with the official MCP clients: both SDK generations and the inspector's command line. */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { toolsOf } from "../../../src/protocol/tools/profile.ts";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { FrameSplitter } from "../../../src/wire/transport/frame.ts";
import { upgrade } from "../../../src/wire/transport/http-client.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { CI_CACHE } from "../../helpers/python-mempalace.ts";

const INSPECTOR_VERSION = "2.12.0";
const run = promisify(execFile);
const info = { name: "palace-test", version: "1" };

type Open = (palace: TestPalace) => Promise<Transport> | Transport;

const shimCommand = (palace: TestPalace) => ({
  command: process.execPath,
  args: [palace.executable("mp-shim")],
  env: palace.env as Record<string, string>,
});

/** Makes a transport for the MCP SDK over the broker's upgraded stream. */
async function socketTransport(palace: TestPalace): Promise<Transport> {
  const socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(socket, {});
  const splitter = new FrameSplitter();
  const transport: Transport = {
    async start() {
      socket.on("data", (chunk: Buffer) => {
        for (const frame of splitter.push(chunk))
          if ("bytes" in frame) transport.onmessage?.(JSON.parse(frame.bytes.toString()) as never);
      });
      socket.on("close", () => transport.onclose?.());
      socket.resume();
    },
    async send(message) {
      socket.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      socket.destroy();
    },
  };
  return transport;
}

/** Opens a TCP port that forwards to the UNIX door. */
async function relay(palace: TestPalace): Promise<{ url: URL } & AsyncDisposable> {
  const server = createServer((from) => {
    const to = connect(palace.config.paths.socketPath);
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) socket.on("error", () => (from.destroy(), to.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  return { url, [Symbol.asyncDispose]: async () => void server.close() };
}

const HTTP = { v1: HttpV1, v2: HttpV2 };
const STDIO = { v1: StdioV1, v2: StdioV2 };
const MODERN = "2026-07-28";
/** `revision`: MCP revision that client and server must agree on. If undefined, the test does not check the revision. */
const CLIENTS = {
  "SDK v1": { sdk: "v1", make: () => new ClientV1(info) as unknown as ClientV2, revision: undefined },
  "SDK v2": { sdk: "v2", make: () => new ClientV2(info), revision: "2025-11-25" },
  "SDK v2, asking first": { sdk: "v2", make: () => negotiating("auto"), revision: MODERN },
  "SDK v2, 2026-07-28 alone": { sdk: "v2", make: () => negotiating({ pin: MODERN }), revision: MODERN },
} as const;

const negotiating = (mode: "auto" | { pin: string }): ClientV2 => new ClientV2(info, { versionNegotiation: { mode } });

describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])("the MCP client %s", (generation) => {
  const { sdk, make, revision } = CLIENTS[generation];

  it.each(["stdio", "socket", "HTTP"])("the client lists and calls the tools over %s", async (way) => {
    await using palace = createTestPalace();
    await palace.startBroker();
    await using port = await relay(palace);
    const open: Record<string, Open> = {
      stdio: (own) => new STDIO[sdk](shimCommand(own)) as unknown as Transport,
      socket: socketTransport,
      HTTP: () => new HTTP[sdk](port.url) as unknown as Transport,
    };
    const client = make();
    await client.connect((await open[way]?.(palace)) as Transport);
    expect(client.getServerVersion()?.name).toBe("mempalace");
    if (revision !== undefined) expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(toolsOf("full").map((tool) => tool.name));
    const call = (name: string, values: Record<string, unknown>) =>
      client.callTool({ name: `mempalace_${name}`, arguments: values });
    const added = (await call("add_drawer", { wing: "w", room: "r", content: `by ${generation} over ${way}` })) as {
      content: { text: string }[];
    };
    expect(JSON.parse(added.content[0]?.text ?? "")).toMatchObject({ success: true, chunks: 1 });
    await expect(call("nope", {})).rejects.toThrow(/Unknown tool: mempalace_nope/);
    await expect(call("status", { bogus: 1 })).rejects.toThrow(/Unknown parameter 'bogus' for tool mempalace_status/);
    await client.close();
  });
});

describe("an idempotency key", () => {
  it("calls with one idempotency key over HTTP (header) and over the stream file one diary entry, and the answer to a repeated call is marked as replayed", async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    await using port = await relay(palace);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "mempalace_diary_write", arguments: { agent_name: "a", entry: "once" } },
    });
    const post = async (): Promise<string> => {
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "idempotency-key": "k-1",
      };
      return (await fetch(port.url, { method: "POST", headers, body })).text();
    };
    const first = await post();
    const again = await post();
    expect(again).toContain('"palace/replayed":true');
    const client = await palace.client();
    await client.callTool("mempalace_diary_write", { agent_name: "a", entry: "once" }, { key: "k-1" });
    const diary = (await client.callTool("mempalace_diary_read", { agent_name: "a" })) as { total: number };
    expect(diary.total).toBe(1);
    await expect(
      client.callTool("mempalace_diary_write", { agent_name: "a", entry: "other" }, { key: "k-1" }),
    ).rejects.toMatchObject({ code: "PROTOCOL_KEY_REUSED" });
    expect(first).not.toContain("replayed");
    client.close();
  });
});

describe("the inspector's command line", () => {
  it("the inspector lists and calls the tools over stdio and HTTP", async (context) => {
    const inspector = await installInspector().catch((error: Error) => {
      if (process.env["CI"] === "true") throw error;
      return undefined;
    });
    if (inspector === undefined) return context.skip("the inspector could not be installed (no package registry)");
    await using palace = createTestPalace();
    await palace.startBroker();
    await using port = await relay(palace);
    const { command, args, env } = shimCommand(palace);
    const inspect = async (target: string[], more: string[]): Promise<string> =>
      (
        await run(process.execPath, [inspector, "--cli", ...target, "--connect-timeout", "60000", ...more], {
          env: { ...env, HOME: palace.home },
          timeout: 60_000,
        })
      ).stdout;
    for (const target of [
      [command, ...args],
      [port.url.href, "--transport", "http"],
    ]) {
      expect(await inspect(target, ["--method", "tools/list"])).toContain("mempalace_search");
      const called = await inspect(target, ["--method", "tools/call", "--tool-name", "mempalace_get_aaak_spec"]);
      expect(called).toContain("aaak_spec");
    }
  });
});

const INSTALL = `
  [ ! -e "$1/done" ] || exit 0
  rm -rf "$1"
  mkdir "$1"
  cd "$1"
  echo "{}" > package.json
  npm install --ignore-scripts --no-audit --no-fund "@modelcontextprotocol/inspector@$2"
  touch done`;

/**
 * Installs the inspector (110 MB) into the CI cache. A lock allows one installation at a time. If an installation is killed, the
 * next call installs again.
 */
async function installInspector(): Promise<string> {
  const folder = join(CI_CACHE, `inspector-${INSPECTOR_VERSION}`);
  mkdirSync(CI_CACHE, { recursive: true });
  const args = [`${folder}.lock`, "sh", "-euc", INSTALL, "sh", folder, INSPECTOR_VERSION];
  await run("flock", args, { timeout: 240_000 });
  return join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
}
