import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FRAME_SIZE_MAX_BYTES } from "../../../src/protocol/limits.ts";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../../src/wire/transport/http-client.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Opens an upgraded stream to which the test writes raw bytes. */
async function rawStream(palace: TestPalace): Promise<Socket & { lines: string[] }> {
  const socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(socket, {});
  const lines: string[] = [];
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  socket.on("error", () => {});
  socket.resume();
  return Object.assign(socket, { lines });
}

const ping = `${JSON.stringify({ jsonrpc: "2.0", id: "after", method: "ping" })}\n`;

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

describe("hostile input on a stream", () => {
  let shared: TestPalace;
  beforeAll(async () => {
    shared = createTestPalace();
    await shared.startBroker();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  it.each([
    ["text that is not JSON", "garbage\n", -32700],
    ["10,000 nested brackets", `${"[".repeat(10_000)}${"]".repeat(10_000)}\n`, -32700],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), -32700],
    ["a value that is not a request", "42\n", -32600],
    ["a batch", "[]\n", -32600],
    ["an unknown method", `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "palace.explode" })}\n`, -32601],
    [
      "a tool call without a name",
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} })}\n`,
      -32602,
    ],
    [
      "a tool name that is an object without a text form",
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: { toString: 1 } } })}\n`,
      -32602,
    ],
    [
      "an idempotency key that is not a string",
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "mempalace_add_drawer", arguments: { wing: "a", room: "b", content: "c" }, _meta: { "palace/idempotencyKey": 7 } } })}\n`,
      -32000,
    ],
  ])("a stream answers %s with a typed error and continues", async (_name, bytes, code) => {
    const stream = await rawStream(shared);
    stream.write(bytes);
    stream.write(ping);
    await expect.poll(() => stream.lines.length).toBe(2);
    const answers = stream.lines.map((line) => JSON.parse(line) as { id: unknown; error?: { code: number } });
    expect(answers.find((answer) => answer.id !== "after")?.error?.code).toBe(code);
    expect(answers.some((answer) => answer.id === "after")).toBe(true);
    stream.destroy();
  });

  it.each([
    ["too long", { text: "x".repeat(FRAME_SIZE_MAX_BYTES) }, "TRANSPORT_FRAME_TOO_LARGE"],
    ["too deep", JSON.parse(`${'{"a":'.repeat(70)}1${"}".repeat(70)}`) as object, "PROTOCOL_BAD_FRAME"],
  ])("the shim refuses a request that is %s, and then answers the next request", async (_name, args, code) => {
    const message = {
      method: "tools/call",
      params: { name: "mempalace_search", arguments: args },
      jsonrpc: "2.0",
      id: 7,
    };
    const { stdout } = await shared.run("mp-shim", [], { input: `${JSON.stringify(message)}\n${ping}` });
    const answers = stdout.split("\n").flatMap((line) => (line === "" ? [] : (JSON.parse(line) as { id: unknown })));
    expect(answers.find(({ id }) => id === 7)).toMatchObject({ error: { data: { code } } });
    expect(answers.find(({ id }) => id === "after")).toHaveProperty("result");
  });

  it("the broker reports a frame that is too large, and keeps none of it in memory", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    await using shim = await palace.shim();
    // The answer comes once the palace is open. Opening takes memory that must not count.
    expect(await shim.call("mempalace_list_wings", {})).toBeDefined();
    const before = residentMiB(broker.pid ?? 0);
    for (let round = 0; round < 3; round++) {
      const stream = await rawStream(palace);
      const chunk = Buffer.alloc(1024 * 1024, "x");
      const closed = new Promise((resolve) => stream.once("close", resolve));
      for (let sent = 0; sent <= FRAME_SIZE_MAX_BYTES && !stream.destroyed; sent += chunk.length) {
        if (!stream.write(chunk)) await Promise.race([new Promise((resolve) => stream.once("drain", resolve)), closed]);
      }
      await expect.poll(() => stream.lines[0]).toContain("TRANSPORT_FRAME_TOO_LARGE");
      stream.destroy();
    }
    expect(await shim.call("mempalace_get_aaak_spec", {})).toHaveProperty("aaak_spec");
    expect(residentMiB(broker.pid ?? 0) - before).toBeLessThan(100);
  });

  it("the broker stops reading from a client that never reads, so its memory stays flat", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const deaf = await dial({ kind: "unix", path: palace.config.paths.socketPath });
    await upgrade(deaf, {});
    deaf.on("error", () => {});
    deaf.pause();
    const before = residentMiB(broker.pid ?? 0);
    const request = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`.repeat(200);
    // Each answer has about 14 KB, so 40,000 unread answers would be 560 MB.
    for (let sent = 0; sent < 200 && deaf.writableLength < 1024 * 1024; sent++) {
      deaf.write(request);
      await delay(2);
    }
    await delay(300);
    expect(residentMiB(broker.pid ?? 0) - before).toBeLessThan(140);
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_get_aaak_spec", {})).toHaveProperty("aaak_spec");
    deaf.destroy();
  });

  it("the broker survives clients that upgrade to another protocol and leave at once", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    for (let round = 0; round < 50; round++) {
      const socket = connect(palace.config.paths.socketPath);
      socket.on("error", () => {});
      socket.write("GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", () =>
        socket.destroy(),
      );
      await new Promise((resolve) => socket.once("close", resolve));
    }
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_get_aaak_spec", {})).toHaveProperty("aaak_spec");
    expect(broker.exitCode).toBeNull();
  });

  it("the broker survives broken and too long HTTP heads", async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    for (const head of [
      "\x00\x01\x02\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      `GET /${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`,
      "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nnope!",
    ]) {
      const socket = connect(palace.config.paths.socketPath);
      socket.on("error", () => {});
      socket.write(head);
      socket.end();
      await new Promise((resolve) => socket.once("close", resolve).resume());
    }
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_get_aaak_spec", {})).toHaveProperty("aaak_spec");
  });
});

it.each([
  ["through its texts", 180, "long".repeat(24_000), 50],
  ["only after JSON escaping", 60, '\\"'.repeat(45_000), 20],
])("a call whose answer is too long (%s) gets an error that says what to ask for", async (_why, count, text, fewer) => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using shim = await palace.shim();
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const note = { wing: "w", room: "r", content: `${index} ${text}` };
    ids.push(((await shim.call("mempalace_add_drawer", note)) as { drawer_id: string }).drawer_id);
  }
  await expect(shim.call("mempalace_get_drawers", { drawer_ids: ids })).rejects.toThrow(/larger than 16777216 bytes/);
  expect(await shim.call("mempalace_get_drawers", { drawer_ids: ids.slice(0, fewer) })).toMatchObject({
    count: fewer,
  });
});

it("the broker refuses a checkpoint with too many notes for one answer before it files a note", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using shim = await palace.shim();
  const notes = (count: number): Record<string, unknown> => ({
    items: Array.from({ length: count }, (_, index) => ({ wing: "w", room: "r", content: `note ${index}` })),
  });
  const refused = await shim.call("mempalace_checkpoint", notes(100_000));
  expect(refused).toEqual({ error: expect.stringContaining("file at most 1000 at once") as string });
  expect(await shim.call("mempalace_list_drawers", { wing: "w" })).toMatchObject({ error: "No palace found" });
  expect(((await shim.call("mempalace_checkpoint", notes(1_000))) as { added: object[] }).added).toHaveLength(1_000);
});
