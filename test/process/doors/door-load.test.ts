/** Tests the broker's doors under load. The tests count answers and measure no time, because times depend on the machine. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../../src/wire/transport/http-client.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const MIB = 1024 * 1024;
const palace = createTestPalace();
let pid = 0;
let client: Client;
let said = "";
const ids: string[] = [];

beforeAll(async () => {
  const broker = await palace.startBroker();
  broker.stderr?.on("data", (text: string) => (said += text));
  pid = broker.pid as number;
  client = await palace.client();
  for (let index = 0; index < 20; index++) {
    const note = { wing: "w", room: "r", content: `${index} ${"harbour ".repeat(11_000)}` };
    ids.push(((await client.callTool("mempalace_add_drawer", note)) as { drawer_id: string }).drawer_id);
  }
});
afterAll(async () => {
  client.close();
  await palace[Symbol.asyncDispose]();
});

function residentMiB(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Opens a stream whose peer reads nothing. */
async function deaf(): Promise<Socket> {
  const socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(socket, {});
  return socket.on("error", () => {}).pause();
}

function requests(count: number, method: string, params: object): string {
  return Array.from({ length: count }, (_, id) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`).join(
    "",
  );
}

async function answered(label: string): Promise<number> {
  const asked = request({ socketPath: palace.config.paths.socketPath, path: "/metrics", agent: false }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const body = await text(response);
  return Number(new RegExp(`palace_requests_total{method="${label}",outcome="ok"} (\\d+)`).exec(body)?.[1] ?? 0);
}

test("large reads wait while their peer reads no answers, and other peers' reads go first", async () => {
  const before = residentMiB();
  const hostile = await deaf();
  // Each answer has 1.8 MB, so the 80 answers would be 144 MB.
  const arguments_ = { drawer_ids: ids };
  hostile.write(requests(80, "tools/call", { name: "mempalace_get_drawers", arguments: arguments_ }));
  await expect.poll(() => answered("mempalace_get_drawers")).toBeGreaterThan(0);
  await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "a note in between" });
  expect(await client.callTool("mempalace_get_drawer", { drawer_id: ids[0] as string })).toHaveProperty("content");
  expect(await answered("mempalace_get_drawers")).toBeLessThan(20);
  expect(residentMiB() - before).toBeLessThan(200);
  // A peer that begins to read gets every answer.
  let lines = 0;
  hostile.on("data", (chunk: Buffer) => (lines += chunk.filter((byte) => byte === 10).length)).resume();
  await expect.poll(() => lines).toBe(80);
  hostile.destroy();
});

test("forty peers that read nothing share one limit, and the broker cuts the longest-waiting peers", async () => {
  const before = residentMiB();
  const peers = await Promise.all(Array.from({ length: 40 }, deaf));
  let cut = 0;
  for (const peer of peers) peer.on("close", () => (cut += 1));
  // Each answer has about 14 KB, so 40 times 512 of them would be 290 MB.
  for (const peer of peers) peer.write(requests(512, "tools/list", {}));
  await expect.poll(() => said).toContain("the peer that has not read for longest was cut");
  await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "a note beside the deaf" });
  expect(await client.callTool("mempalace_get_drawer", { drawer_id: ids[0] as string })).toHaveProperty("content");
  expect(residentMiB() - before).toBeLessThan(200);
  for (const peer of peers) peer.destroy();
});

const UNFINISHED = {
  "lines of a stream": async (): Promise<Socket> => deaf(),
  "bodies of HTTP requests": async (): Promise<Socket> => {
    const socket = connect(palace.config.paths.socketPath).on("error", () => {});
    socket.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n");
    return socket;
  },
};

test.each(Object.entries(UNFINISHED))(
  "%s that never end share one limit, and the broker cuts the longest-waiting peer",
  async (_what, open) => {
    const before = residentMiB();
    const part = Buffer.alloc(15 * MIB, " ");
    const sockets: Socket[] = [];
    for (let index = 0; index < 20; index++) {
      const socket = (await open()).resume();
      socket.write(part);
      await Promise.race([once(socket, "drain"), once(socket, "close")]);
      sockets.push(socket);
    }
    // The test sends 300 MiB, and the broker keeps 64 MiB of them.
    await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBeGreaterThanOrEqual(16);
    expect(sockets[0]?.closed).toBe(true);
    expect(sockets.at(-1)?.closed).toBe(false);
    expect(said).toContain("the one that waited longest was cut");
    expect(residentMiB() - before).toBeLessThan(200);
    for (const socket of sockets) socket.destroy();
  },
);
