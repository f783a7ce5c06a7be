/** Tests the link to the broker. A few lines of code on a real socket act as a broker that misbehaves in rare ways. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OFFLINE_RULES } from "../../../../src/broker/tools/offline.ts";
// Loads these modules before the tests, because the simulated clock below would not wait while a module loads.
import "../../../../src/wire/client/send-spooled.ts";
import "../../../../src/wire/client/answer-offline.ts";
import { Link, type Reach } from "../../../../src/wire/client/link.ts";
import "../../../../src/wire/client/spool.ts";
import { loadConfig } from "../../../../src/config/config.ts";
import { type Clock, SYSTEM_CLOCK } from "../../../../src/base/clock.ts";
import { PalaceError } from "../../../../src/base/errors.ts";
import { FRAME_SIZE_MAX_BYTES, REQUEST_SIZE_MAX_BYTES } from "../../../../src/protocol/limits.ts";
import { IDEMPOTENCY_META } from "../../../../src/protocol/headers.ts";
import { PROTOCOL } from "../../../../src/protocol/version.ts";
import { FrameSplitter } from "../../../../src/wire/transport/frame.ts";

type Line = { id: number; method: string };

let folder: string;
let server: Server | undefined;
let link: Link | undefined;
const sockets = new Set<Socket>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "link-"));
});
afterEach(() => {
  link?.close();
  stop();
  rmSync(folder, { recursive: true, force: true });
});

function stop(): void {
  server?.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
}

/** Upgrades every connection and hands each line to `answer`. */
async function serve(answer: (line: Line, socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    sockets.add(socket);
    let text = "";
    let isStream = false;
    socket.setEncoding("utf8").on("error", () => {});
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (!isStream) {
        const end = text.indexOf("\r\n\r\n");
        if (end === -1) return;
        if (text.startsWith("GET /health ")) {
          const health = JSON.stringify({ instanceId: "x", version: "0", protocol: PROTOCOL });
          socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${health.length}\r\n\r\n${health}`);
          return;
        }
        isStream = true;
        text = text.slice(end + 4);
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n");
      }
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) answer(JSON.parse(line) as Line, socket);
    });
  }).listen(join(folder, "broker.sock"));
  await once(server, "listening");
}

function open(clock: Clock = SYSTEM_CLOCK): {
  link: Link;
  answers: { id: number; result?: unknown; error?: { data: { code: string } } }[];
} {
  const config = loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${join(folder, "broker.sock")}` });
  const answers: { id: number }[] = [];
  link = new Link({
    config,
    agent: "test",
    start: "auto",
    clock,
    onLine: (line) => answers.push(JSON.parse(String(line)) as { id: number }),
  });
  return { link, answers };
}

const request = (id: number): string => JSON.stringify({ jsonrpc: "2.0", id, method: "ask" });
const reply = (id: number, body: object): string => `${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`;
const failed = (code: string, more: object = {}): object => ({
  error: { code: -32000, message: "x", data: { code, hint: "", retryable: true, ...more } },
});

test("the link passes on an answer once if it arrives twice", async () => {
  await serve(({ id }, socket) => void socket.write(reply(id, { result: 1 }) + reply(id, { result: 2 })));
  const { link, answers } = open();
  link.send(1, request(1));
  link.send(2, request(2));
  await expect.poll(() => answers.length).toBe(2);
  expect(answers.map(({ id, result }) => [id, result])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(link.pendingCount).toBe(0);
});

test("the link sends a request to a busy broker again after the time that the broker names", async () => {
  let asked = 0;
  const waits: number[] = [];
  const after: Clock["after"] = (ms, call) => {
    waits.push(ms);
    return SYSTEM_CLOCK.after(ms, call);
  };
  await serve(({ id }, socket) => {
    asked++;
    socket.write(reply(id, asked < 3 ? failed("BROKER_BUSY", { retryAfterMs: 60 }) : { result: "at last" }));
  });
  const { link, answers } = open({ ...SYSTEM_CLOCK, after });
  link.send(1, request(1));
  await expect.poll(() => answers.length).toBe(1);
  expect(answers[0]?.result).toBe("at last");
  expect(asked).toBe(3);
  expect(waits.filter((ms) => ms === 60)).toHaveLength(2);
});

test("a request that waited five minutes at a broker is sent to the next broker when the connection ends", async () => {
  const asked: number[] = [];
  await serve(({ id }, socket) => {
    asked.push(id);
    if (asked.length > 1) socket.write(reply(id, { result: "from the next" }));
  });
  let aheadMs = 0;
  const clock = { ...SYSTEM_CLOCK, now: () => SYSTEM_CLOCK.now() + aheadMs };
  const { link, answers } = open(clock);
  link.send(1, request(1));
  await expect.poll(() => asked).toEqual([1]);
  // Lets five minutes pass, because a call that waits for an event may take so long.
  aheadMs = 300_000;
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => answers).toMatchObject([{ id: 1, result: "from the next" }]);
});

test("an unanswered call goes to the next broker at the same endpoint", async () => {
  const first: number[] = [];
  await serve(({ id }, socket) => {
    first.push(id);
    socket.destroy();
  });
  const { link, answers } = open();
  link.send(1, request(1));
  await expect.poll(() => first.length).toBeGreaterThan(0);
  stop();
  link.send(2, request(2));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(answers).toEqual([]);
  await serve(({ id }, socket) => void socket.write(reply(id, { result: "next" })));
  await expect.poll(() => answers.length, { timeout: 5_000 }).toBe(2);
  expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2]);
});

test("a call fails at once if no broker runs and the link has never reached a broker", async () => {
  const { link, answers } = open();
  link.send(1, request(1));
  // The client would wait 10 s if it had reached a broker before.
  await expect.poll(() => answers.length, { timeout: 5_000 }).toBe(1);
  expect(answers[0]?.error?.data.code).toBe("TRANSPORT_REFUSED");
});

test("a call reaches a running broker in spite of an unreadable spool", async () => {
  await serve(({ id }, socket) => void socket.write(reply(id, { result: "here" })));
  const config = loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${join(folder, "broker.sock")}` });
  mkdirSync(config.paths.spoolRoot, { recursive: true });
  writeFileSync(config.paths.spoolDir, "no folder");
  const answers: unknown[] = [];
  const onLine = (line: Buffer | string): void => void answers.push(JSON.parse(String(line)));
  link = new Link({ config, agent: "test", start: "auto", offline: async () => OFFLINE_RULES, onLine });
  link.send(1, request(1));
  await expect.poll(() => answers, { timeout: 5_000 }).toMatchObject([{ id: 1, result: "here" }]);
});

/** Clock that jumps to its next timer whenever all code waits for a timer. */
function leapingClock(): Clock & { until: (isTrue: () => boolean) => Promise<void> } {
  let now = 0;
  const timers = new Set<{ atMs: number; call: () => void }>();
  return {
    now: () => now,
    after(ms, call) {
      const timer = { atMs: now + ms, call };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    async until(isTrue) {
      for (;;) {
        for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
        if (isTrue()) return;
        const [next] = [...timers].toSorted((a, b) => a.atMs - b.atMs);
        if (next === undefined) throw new Error("no timer is waiting");
        timers.delete(next);
        now = Math.max(now, next.atMs);
        next.call();
      }
    },
  };
}

test("the link waits once for a broker whose start always fails, and then spools writes at once", async () => {
  const clock = leapingClock();
  let starts = 0;
  // Another process has the palace and cannot be reached from here.
  const reach: Reach = {
    open: () => Promise.resolve(undefined),
    async ensure(_config, { onStarting }) {
      starts += 1;
      onStarting?.();
      await new Promise<void>((resolve) => void clock.after(5_000, resolve));
      throw new PalaceError("BROKER_START_FAILED", "the palace is held", "");
    },
  };
  const config = loadConfig({ HOME: folder });
  const answers: string[] = [];
  const onLine = (line: Buffer | string): void => void answers.push(String(line));
  link = new Link({ config, agent: "test", start: "auto", offline: async () => OFFLINE_RULES, reach, clock, onLine });
  const waited: number[] = [];
  for (let id = 0; id < 4; id++) {
    const since = clock.now();
    const params = {
      ...{ name: "mempalace_add_drawer", arguments: { wing: "w", room: "r", content: String(id) } },
      _meta: { [IDEMPOTENCY_META]: String(id) },
    };
    link.send(id, JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
    await clock.until(() => answers.length === id + 1);
    expect(answers[id]).toContain("spooled");
    waited.push(clock.now() - since);
    // After 6 s the failed start no longer counts.
    let isLater = false;
    clock.after(6_000, () => (isLater = true));
    await clock.until(() => isLater);
  }
  expect(starts).toBeGreaterThan(3);
  expect(waited[0]).toBeGreaterThanOrEqual(5_000);
  expect(waited.slice(1).filter((ms) => ms >= 1_000)).toEqual([]);
});

test.each([
  [
    "fails the call that it answers, and the other calls continue",
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":"`,
  ],
  ["that names no call fails every open call", () => '{"result":"'],
])("a too long answer %s", async (_what, head) => {
  await serve((line, socket) => {
    if (line.method === "big") socket.write(`${head(line.id)}${"x".repeat(FRAME_SIZE_MAX_BYTES)}"}\n`);
    else if (line.method === "small")
      socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: line.id, result: "small" })}\n`);
  });
  const { link: to, answers } = open();
  for (const [id, method] of [
    [1, "silent"],
    [2, "big"],
  ] as const)
    to.send(id, JSON.stringify({ jsonrpc: "2.0", id, method }));
  await expect.poll(() => answers.find(({ id }) => id === 2)?.error?.data.code).toBe("TRANSPORT_FRAME_TOO_LARGE");
  expect(answers.some(({ id }) => id === 1)).toBe(head(2).includes("id") ? false : true);
  to.send(3, JSON.stringify({ jsonrpc: "2.0", id: 3, method: "small" }));
  await expect.poll(() => answers.find(({ id }) => id === 3)?.result).toBe("small");
});

test.each([1, 2, 3, 4, 5])("the splitter returns whole lines, although they arrive in chunks of %i bytes", (size) => {
  const splitter = new FrameSplitter();
  const bytes = Buffer.from("abcd\n\nefgh\nij");
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const frames = chunks.flatMap((chunk) => splitter.push(chunk));
  expect(frames.map((frame) => ("bytes" in frame ? frame.bytes.toString() : "oversize"))).toEqual(["abcd", "efgh"]);
  expect(splitter.pendingBytes).toBe(2);
});

test("a request that is too long for the broker fails at once and keeps the connection", async () => {
  const asked: number[] = [];
  await serve(({ id }, socket) => {
    asked.push(id);
    socket.write(reply(id, { result: 1 }));
  });
  const { link, answers } = open();
  link.send(1, request(1).replace("ask", "a".repeat(REQUEST_SIZE_MAX_BYTES)));
  link.send(2, request(2));
  await expect.poll(() => answers.length).toBe(2);
  expect(answers).toMatchObject([
    { id: 1, error: { data: { code: "TRANSPORT_FRAME_TOO_LARGE" } } },
    { id: 2, result: 1 },
  ]);
  expect([asked, link.pendingCount]).toEqual([[2], 0]);
});
