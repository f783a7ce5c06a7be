/** Sends raw bytes to both doors of a real broker. Each connection must be closed or get HTTP answers without a 5xx. */
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect } from "vitest";
import { seededRandom } from "../helpers/random.ts";
import { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";
import { assertNoLeak, openDoorSocket, startWitnessed, type Witnessed } from "./witness.ts";

/** Silence, ms, after which we end our side. The broker must then answer or close. */
const PAUSE_MS = 15;
const LANES = 16;

let world: Witnessed;
beforeAll(async () => {
  world = await startWitnessed();
});
afterAll(() => world[Symbol.asyncDispose]());

type Input = { door: "unix" | "tcp"; pieces: Buffer[]; from: number };

const READ_CALL = rpc(1, "tools/call", '{"name":"mempalace_list_wings","arguments":{}}');
const BODIES = [rpc(1, "ping"), rpc(1, "tools/list"), READ_CALL, rpc(1, "nothing"), "[]", "{", "", "x".repeat(70_000)];
const PATHS = [
  "/",
  "/mcp",
  "/mcp?x=1",
  "/health",
  "/ready",
  "/metrics",
  "/auth",
  "*",
  "http://x/mcp",
  "//mcp",
  "/%00",
].concat(["/api/", "/api/search", "/api/books", "/api/hooks/check-scored?conversation_id=%", "/api/memory-bank/add"]);
const METHODS = ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "CONNECT", "TRACE", "PRI", "get", "M-SEARCH"];
const VERSIONS = ["HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "HTTP/1.1 x", ""];

const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ["Host", ["localhost", "127.0.0.1", "[::1]:1", "evil.example", "", "a b", "[", "localhost:999999"]],
  ["Content-Type", ["application/json", "text/plain", "application/json; charset=utf-16", "multipart/form-data"]],
  ["Accept", ["application/json, text/event-stream", "*/*", "text/html", ""]],
  ["Connection", ["close", "keep-alive", "Upgrade", "Upgrade, close", ","]],
  ["Upgrade", ["mcp", "MCP", "websocket", "h2c", "mcp, mcp", ""]],
  ["Expect", ["100-continue", "200-ok"]],
  ["Transfer-Encoding", ["chunked", "gzip, chunked", "identity", "chunked, chunked", "xchunked"]],
  ["Content-Length", ["0", "1", "5", "-1", "1e3", "0x10", "99999999999999999999", "4, 4", "+3", " 2"]],
  ["Origin", ["https://evil.example", "null", "http://localhost", "file://", "https://127.0.0.1:1"]],
  ["Mcp-Protocol-Version", ["2025-11-25", "2025-06-18", "1999-01-01", "2026-07-28", "x"]],
  ["Mcp-Session-Id", ["x", "../..", ""]],
  ["Idempotency-Key", ["k", "", "x".repeat(500)]],
  ["palace-agent", ["fuzz", "\u00e9", "a".repeat(5000), ""]],
  ["palace-project", ["fuzz", "\u00e9", "%", "a,".repeat(3000), ""]],
  ["X-Long", ["x".repeat(20_000)]],
  ["Cookie", ["a=b"]],
  [" folded", ["x"]],
  ["bad name", ["x"]],
];

function rpc(id: unknown, method: string, params?: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}"${params === undefined ? "" : `,"params":${params}`}}`;
}

function authorization(chooser: Chooser): string {
  const { token } = world;
  const [prefix = "", id = "", secret = ""] = token.split("_");
  const damaged = chooser.damaged(Buffer.from(token)).toString("latin1");
  const right = `Bearer ${token}`;
  return chooser.pick([
    right,
    right,
    right,
    `bearer  ${token}`,
    `Bearer ${damaged}`,
    `Bearer ${prefix}_${id}_${secret.slice(1)}x`,
    "Bearer",
    "Basic Og==",
    `Palace ${id}.n.n.p`,
    `Palace ${"x".repeat(3000)}`,
    `Palace ${damaged}`,
  ]);
}

function headOf(chooser: Chooser, start: string, headers: readonly string[]): string {
  const eol = chooser.chance(0.98) ? "\r\n" : chooser.pick(["\n", "\r", "\n\r"]);
  return [start, ...headers, "", ""].join(eol);
}

function anyHeaders(chooser: Chooser, most: number): string[] {
  return chooser.some(most, () => {
    const [name, values] = chooser.pick(HEADERS);
    const value = chooser.chance(0.95) ? chooser.pick(values) : chooser.text();
    return `${name}${chooser.chance(0.97) ? ": " : chooser.pick([":", " : ", ""])}${value}`;
  });
}

function request(chooser: Chooser): string {
  const body = chooser.chance(0.8) ? chooser.pick(BODIES) : chooser.json();
  const path = chooser.chance(0.5) ? "/mcp" : chooser.chance(0.9) ? chooser.pick(PATHS) : `/${chooser.text()}`;
  const method = chooser.chance(0.5) ? "POST" : chooser.pick(METHODS);
  const start = `${method} ${path} ${chooser.chance(0.9) ? "HTTP/1.1" : chooser.pick(VERSIONS)}`;
  const usual = ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
  const isChunked = chooser.chance(0.2);
  const framed = [isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${Buffer.byteLength(body)}`];
  const headers = [...usual, `Authorization: ${authorization(chooser)}`, ...framed].filter(() => chooser.chance(0.95));
  const head = headOf(chooser, start, [...headers, ...anyHeaders(chooser, 2)]);
  return head + (isChunked ? chunked(chooser, body) : body);
}

function chunked(chooser: Chooser, body: string): string {
  const right = Buffer.byteLength(body, "latin1").toString(16);
  const size = chooser.chance(0.7) ? right : chooser.pick([`${right};ext=1`, "fffffffffffffffff", "-1", "0", "zz"]);
  return `${size}\r\n${body}\r\n0\r\n${chooser.pick(["", "Trailer: x\r\n"])}\r\n`;
}

fuzz("http-heads", {
  count: 2_000,
  lanes: LANES,
  generate: (chooser): Input => {
    const whole = Buffer.from(chooser.some(2, () => request(chooser)).join("") + request(chooser), "latin1");
    const bytes = chooser.chance(0.3) ? chooser.damaged(whole) : whole;
    return { door: chooser.pick(["unix", "tcp"]), pieces: chooser.pieces(bytes, 3), from: chooser.below(2 ** 31) };
  },
  check: async (input, { number }) => {
    const answered = await exchange(input);
    assertHttp(answered);
    assertNoLeak(answered, world.palace.home);
    await world.stillAnswers(number);
  },
  finish,
});

type Upgrade = Input & { intact: boolean; pings: number };

fuzz("http-upgrades", {
  count: 2_000,
  lanes: LANES,
  generate: (chooser): Upgrade => {
    const intact = chooser.chance(0.3);
    const door = chooser.pick(["unix", "tcp"]);
    const pings = chooser.below(5);
    const tail = Array.from({ length: pings }, (_, id) => `${rpc(id, "ping")}\n`).join("");
    const own = ["Host: localhost", "Connection: Upgrade", "Upgrade: mcp", `Authorization: Bearer ${world.token}`];
    const from = chooser.below(2 ** 31);
    if (intact) {
      const bytes = Buffer.from(headOf(new Chooser(() => 0), "GET /mcp HTTP/1.1", own) + tail);
      return { door, pieces: chooser.pieces(bytes, 3), from, intact, pings };
    }
    const start = `${chooser.pick(["GET", "GET", "POST", "HEAD"])} ${chooser.pick(["/mcp", "/mcp", ...PATHS])} HTTP/1.1`;
    const kept = own.filter(() => chooser.chance(0.9));
    const head = headOf(chooser, start, [...kept, ...anyHeaders(chooser, 3)]);
    const lines = chooser.some(4, () => (chooser.chance(0.5) ? chooser.json() : chooser.text()));
    const whole = Buffer.concat([Buffer.from(head, "latin1"), Buffer.from([tail, ...lines].join("\n"))]);
    const bytes = chooser.chance(0.4) ? chooser.damaged(whole) : whole;
    return { door, pieces: chooser.pieces(bytes, 3), from, intact, pings };
  },
  check: async (input, { number }) => {
    const answered = await exchange(input);
    assertHttp(answered);
    assertNoLeak(answered, world.palace.home);
    if (answered.startsWith("HTTP/1.1 101 ")) {
      const lines = answered.slice(answered.indexOf("\r\n\r\n") + 4).split("\n");
      expect(lines.pop(), "after the last whole line").toBe("");
      const answers = lines.map((line) => JSON.parse(line) as { jsonrpc: string });
      expect(answers.every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
      if (input.intact) expect(answers.length).toBe(input.pings);
    } else expect(input.intact, "a proper upgrade is refused").toBe(false);
    await world.stillAnswers(number);
  },
  finish,
});

async function finish(): Promise<void> {
  expect(await world.drawers(), "drawers that nobody filed").toBe(0);
  await world.assertUnharmed();
}

/** Sends the pieces, ends our side, and returns all bytes that the broker sent. */
async function exchange({ door, pieces, from }: Input): Promise<string> {
  const socket = await openDoorSocket(door, world, new Chooser(seededRandom(from)));
  let answered = "";
  socket.setEncoding("latin1").on("data", (text: string) => (answered += text));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const piece of pieces) {
    if (!socket.writable) break;
    socket.write(piece);
    await new Promise(setImmediate);
  }
  await Promise.race([closed, quiet(socket)]);
  socket.end();
  await closed;
  return answered;
}

/** Waits until no data has come for PAUSE_MS. */
function quiet(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let timer = setTimeout(resolve, PAUSE_MS);
    socket.on("data", () => {
      clearTimeout(timer);
      timer = setTimeout(resolve, PAUSE_MS);
    });
  });
}

/** Asserts that the text is empty or consists of HTTP answers, none of which reports a fault of the broker. */
function assertHttp(answered: string): void {
  if (answered === "") return;
  expect(answered).toMatch(/^HTTP\/1\.1 \d{3} [\w -]+\r\n/);
  const statuses = Array.from(answered.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, status]) => Number(status));
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  expect(answered, "an internal error").not.toMatch(/-32603|Internal (?:tool|server) error/i);
}
