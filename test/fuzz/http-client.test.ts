/** Runs our client against servers that are not a broker. Every exchange must end soon, with a value or a typed error. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { findBroker } from "../../src/wire/client/discover.ts";
import { Link } from "../../src/wire/client/link.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { PalaceError } from "../../src/base/errors.ts";
import type { RpcResponse } from "../../src/protocol/spec.ts";
import { dial, type Endpoint } from "../../src/wire/transport/endpoint.ts";
import { ask, get, upgrade } from "../../src/wire/transport/http-client.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const LANES = 16;
/** Upper bound of the bytes that a client accepts in one answer. A server with an endless answer sends twice as many. */
const KEPT_MAX_BYTES = 4 * 1024 * 1024;

const folder = mkdtempSync(join(tmpdir(), "palace-fuzz-"));
const pathOf = (lane: number): string => join(folder, `${lane}.sock`);
const configs = Array.from({ length: LANES }, (_, lane) =>
  loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${pathOf(lane)}` }),
);
const servers: Server[] = [];
/** Behaviour of each lane's server on its next connection. */
const scripts: ((socket: Socket) => void | Promise<void>)[] = [];

beforeAll(async () => {
  for (let lane = 0; lane < LANES; lane++) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => void scripts[lane]?.(socket));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(pathOf(lane), resolve));
  }
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

type Ending = "end" | "destroy" | "mute";
type Hostile = { pieces: Buffer[]; drip: boolean; endless: boolean; ending: Ending; exchange: keyof typeof EXCHANGES };

const EXCHANGES = {
  get: (socket: Socket) => get(socket, "/health"),
  ask: (socket: Socket) => ask(socket, "/auth", "palace-challenge", {}),
  upgrade: (socket: Socket) => upgrade(socket, { "palace-agent": "fuzz\r\nX: y" }),
} as const;

fuzz("http-client", {
  count: 2_000,
  lanes: LANES,
  generate: (chooser): Hostile => ({
    pieces: chooser.pieces(response(chooser), chooser.chance(0.05) ? 40 : 3),
    drip: chooser.chance(0.1),
    endless: chooser.chance(0.01),
    ending: chooser.chance(0.002) ? "mute" : chooser.pick(["end", "destroy"]),
    exchange: chooser.pick(["get", "ask", "upgrade"]),
  }),
  check: async ({ pieces, drip, endless, ending, exchange }, { lane }) => {
    let sent = 0;
    scripts[lane] = async (socket) => {
      for (const piece of pieces) {
        socket.write(piece);
        if (drip) await delay(1);
      }
      const junk = Buffer.alloc(64 * 1024, "x");
      for (; endless && socket.writable && sent < 2 * KEPT_MAX_BYTES; sent += junk.length)
        if (!socket.write(junk)) await Promise.race([new Promise((next) => socket.once("drain", next)), delay(200)]);
      if (ending === "end") socket.end();
      else if (ending === "destroy") socket.destroy();
    };
    const endpoint: Endpoint = { kind: "unix", path: pathOf(lane) };
    const socket = await dial(endpoint);
    socket.on("error", () => {});
    const outcome = await EXCHANGES[exchange](socket).catch((error: unknown) => error);
    if (outcome instanceof Error) {
      assertTyped(outcome);
      expect(socket.destroyed, "the connection of a refused answer").toBe(true);
    } else if (typeof outcome === "object" && outcome !== null && "body" in outcome) {
      const { body, headers } = outcome as { body: string; headers: Map<string, string> };
      expect(headers.get("content-length")).toMatch(/^\d+$/);
      expect(body.length).toBeLessThanOrEqual(Number(headers.get("content-length")));
    }
    socket.destroy();
    // The server gives the same bytes to `findBroker`, which asks for the broker's health.
    const found = await findBroker(configs[lane] as Config).catch((error: unknown) => error);
    if (found instanceof Error) assertTyped(found);
  },
});

function assertTyped(error: Error): void {
  expect(error, error.stack ?? "").toBeInstanceOf(PalaceError);
  expect((error as PalaceError).code).toMatch(/^(?:TRANSPORT_|BROKER_|PROTOCOL_VERSION_MISMATCH)/);
}

function response(chooser: Chooser): Buffer {
  const health = `{"status":"ready","instanceId":${chooser.json(1)},"version":${chooser.json(1)},"protocol":${chooser.json(2)}}`;
  const body = chooser.chance(0.5) ? health : chooser.chance(0.5) ? chooser.json() : chooser.text();
  const status = chooser.pick([
    "200 OK",
    "101 Switching",
    "401 No",
    "403 No",
    "429 Wait",
    "500 Oops",
    "2000",
    "",
    "-1 x",
    "99",
  ]);
  const lengths = [
    String(Buffer.byteLength(body)),
    "0",
    "-5",
    "1e3",
    "0x10",
    "",
    " ",
    "999999999",
    "1048577",
    "5, 5",
    "NaN",
  ];
  const headers = [
    `Content-Length: ${chooser.chance(0.6) ? lengths[0] : chooser.pick(lengths)}`,
    `palace-instance: ${chooser.text()}`,
    `palace-challenge: ${chooser.text()}`,
    ": nothing",
    "no colon at all",
    `__proto__: ${chooser.text()}`,
    `X: ${"x".repeat(chooser.pick([10, 20_000, 100_000]))}`,
    "Transfer-Encoding: chunked",
  ].filter((_, index) => chooser.chance(index < 3 ? 0.8 : 0.1));
  const start = `HTTP/${chooser.chance(0.9) ? "1.1" : chooser.pick(["1.0", "2", "0.9"])} ${status}`;
  const eol = chooser.chance(0.9) ? "\r\n" : chooser.pick(["\n", "\r"]);
  const bytes = Buffer.from([start, ...headers, "", ""].join(eol) + body);
  return chooser.chance(0.2) ? chooser.damaged(bytes) : bytes;
}

type Nonsense = { lines: Buffer };

fuzz("broker-answers", {
  count: 2_000,
  lanes: LANES,
  generate: (chooser): Nonsense => {
    const parts = chooser.some(4, () => Buffer.from(nonsense(chooser)));
    const lines = Buffer.concat(parts.flatMap((part) => [part, Buffer.from("\n")]));
    return { lines: chooser.chance(0.3) ? chooser.damaged(lines) : lines };
  },
  check: async ({ lines }, { lane }) => {
    let connections = 0;
    scripts[lane] = (socket) => {
      connections += 1;
      socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
      // The first connection gets nonsense and ends, the next one gets answers.
      if (connections === 1) return void socket.end(lines);
      socket.on("data", (said: Buffer) => {
        for (const line of said.toString().split("\n").filter(Boolean)) {
          const { id } = JSON.parse(line) as { id: number };
          socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: "right" })}\n`);
        }
      });
    };
    const answers: RpcResponse[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const link = new Link({
      config: configs[lane] as Config,
      agent: "fuzz",
      start: "never",
      onLine: (line) => {
        const answer = JSON.parse(line.toString()) as RpcResponse;
        expect(typeof answer === "object" && answer !== null).toBe(true);
        if (answer.id !== 7) return;
        answers.push(answer);
        resolve();
      },
    });
    link.send(7, '{"jsonrpc":"2.0","id":7,"method":"ping"}');
    await promise;
    expect(answers.length).toBe(1);
    expect(link.pendingCount).toBe(0);
    link.close();
  },
});

function nonsense(chooser: Chooser): string {
  const id = chooser.pick(["7", '"7"', "8", "null", chooser.json(1)]);
  return chooser.pick([
    chooser.json(),
    chooser.text().replaceAll("\n", " "),
    `{"jsonrpc":"2.0","id":${id},"error":${chooser.json(2)}}`,
    `{"jsonrpc":"2.0","id":${id},"result":${chooser.json(2)}}`,
    `{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x","data":${chooser.json(2)}}}`,
    '{"jsonrpc":"2.0","method":"notifications/x"}',
  ]);
}
