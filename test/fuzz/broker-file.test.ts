/** Looks for a broker with arbitrary `broker.json` files. The search must end soon, dial only valid doors, and send no secret. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { findBroker, openStream, readBrokerFile } from "../../src/wire/client/discover.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { PROTOCOL } from "../../src/protocol/version.ts";
import { type Chooser, type Entry, object } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const LANES = 16;
const TOKEN = `pdx_abcdefgh_${"s3cret".repeat(8).slice(0, 43)}`;
/** Placeholders in inputs. Each lane (inputs checked one after another) has its own TCP port; the folder has the sockets. */
const PORT = "54321";
const FOLDER = "/folder";

/** Programs that may listen at a door: brokers with the right id, another id or another protocol, and other programs. */
const SPEAKERS: Readonly<Record<string, (socket: Socket) => void>> = {
  right: answerAs("right", PROTOCOL),
  other: answerAs("other", PROTOCOL),
  older: answerAs("right", { min: 0, max: 0 }),
  garbage: (socket) => socket.end("\0\x01 not HTTP\r\n\r\n"),
  mute: () => {},
  shut: (socket) => socket.destroy(),
};
const SPECIALS = { fifo: "fifo", zero: "/dev/zero", folder: ".", loop: "loop", absent: "nowhere" };

const folder = mkdtempSync(join(tmpdir(), "palace-fuzz-"));
const socketOf = (speaker: string): string => join(folder, `${speaker}.sock`);
/** Sockets whose program answers with the instance id in `broker.json`. `older` speaks an older protocol. */
const RIGHT = new Set(["right", "older"].map(socketOf));
const servers: Server[] = [];
/** TCP server of each lane: its port, its number of connections, and the bytes that it received. */
const traps: { port: number; dialled: number; heard: string }[] = [];

beforeAll(async () => {
  for (const [speaker, speak] of Object.entries(SPEAKERS))
    await listen({ path: socketOf(speaker) }, (socket) => socket.once("data", () => speak(socket)));
  for (let lane = 0; lane < LANES; lane++) {
    const trap = { port: 0, dialled: 0, heard: "" };
    const server = await listen({ host: "127.0.0.1", port: 0 }, (socket) => {
      trap.dialled += 1;
      socket.on("data", (said: Buffer) => {
        trap.heard += said.toString("latin1");
        socket.end(
          "HTTP/1.1 401 Unauthorized\r\npalace-challenge: abcdefghijklmnopqrstuvwx\r\nContent-Length: 0\r\n\r\n",
        );
      });
    });
    trap.port = (server.address() as AddressInfo).port;
    traps.push(trap);
  }
  execFileSync("mkfifo", [join(folder, SPECIALS.fifo)]);
  symlinkSync("loop", join(folder, SPECIALS.loop));
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

type Input = { text: string; token: boolean; special: keyof typeof SPECIALS | undefined };

fuzz("broker-file", {
  count: 4_000,
  lanes: LANES,
  generate: (chooser): Input => ({
    text: fileText(chooser),
    token: chooser.chance(0.4),
    special: chooser.chance(0.02) ? chooser.pick(["fifo", "zero", "folder", "loop", "absent"]) : undefined,
  }),
  check: async ({ text, token, special }, { lane, number }) => {
    const trap = traps[lane] as (typeof traps)[number];
    const config = configOf(lane, token);
    const file = text.replaceAll(PORT, String(trap.port)).replaceAll(FOLDER, folder);
    place(config.paths.brokerFile, file, special);
    readBrokerFile(config.paths.brokerFile);
    const before = trap.dialled;
    const live = await lookFor(config, number);

    const doors = special === undefined ? doorsOf(file) : [];
    const isNamed = doors.some(
      ({ kind, host, port }) => kind === "tcp" && typeof host === "string" && port === trap.port,
    );
    expect(trap.dialled > before && !(isNamed && token), "dialled an invalid door").toBe(false);
    if (isNamed && token) await allAccepted(trap.port);
    const isRight = doors.some(({ kind, path }) => kind === "unix" && typeof path === "string" && RIGHT.has(path));
    expect(live && !isRight, "a liar").toBe(false);
  },
  finish: () => {
    for (const { heard } of traps) {
      expect(heard, "the token's secret").not.toContain("s3cret");
      expect(heard, "a message to a broker that has not proven who it is").not.toContain("jsonrpc");
    }
  },
});

/** Makes a last connection and waits for its end. By then the server has accepted all earlier ones, so none counts for the next input. */
async function allAccepted(port: number): Promise<void> {
  const last = connect({ host: "127.0.0.1", port });
  last.end("the last one");
  await once(last.resume(), "close");
}

/** Returns true if a broker was found. Errors must be typed and name a next step. */
async function lookFor(config: Config, number: number): Promise<boolean> {
  try {
    if (number % 2 === 0) return (await findBroker(config)) !== undefined;
    const stream = await openStream(config, "fuzz");
    stream?.socket.destroy();
    return stream !== undefined;
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    expect(error.code).toMatch(/^(?:PROTOCOL_VERSION_MISMATCH|BROKER_DENIED)$/);
    return false;
  }
}

function fileText(chooser: Chooser): string {
  if (chooser.chance(0.05)) return chooser.json(5);
  const many = chooser.chance(0.01) ? chooser.between(100, 3000) : chooser.below(4);
  const doors = Array.from({ length: many }, () => door(chooser, many > 4));
  const entries: Entry[] = [
    ["schema", "1"],
    ["instanceId", chooser.chance(0.9) ? '"right"' : chooser.json(1)],
    ["version", '"9.9.9"'],
    ["protocol", '{"min":1,"max":1}'],
    ["pid", "1"],
    ["bootId", '"x"'],
    ["startedAtMs", "0"],
    ["doors", `[${doors.join()}]`],
  ];
  if (chooser.chance(0.005)) entries.push(["padding", JSON.stringify("x".repeat(3_000_000))]);
  const text = object(chooser.bent(entries, 0.05));
  return chooser.chance(0.05) ? chooser.damaged(Buffer.from(text)).toString() : text;
}

function door(chooser: Chooser, oneOfMany: boolean): string {
  const speakers = ["right", "right", "other", "older", "garbage", "shut", "absent"];
  const speaker = chooser.chance(oneOfMany ? 0.5 : 0.003) ? "mute" : chooser.pick(speakers);
  const unix: Entry[] = [
    ["kind", '"unix"'],
    ["path", chooser.chance(0.85) ? `"${FOLDER}/${speaker}.sock"` : odd(chooser)],
  ];
  const tcp: Entry[] = [
    ["kind", chooser.chance(0.8) ? '"tcp"' : chooser.pick(['"ssh"', '"http"', '"TCP"', "null", "1", '["tcp"]'])],
    ["host", chooser.chance(0.9) ? '"127.0.0.1"' : odd(chooser)],
    [
      "port",
      chooser.chance(0.9) ? PORT : chooser.pick([`"${PORT}"`, `${PORT}.5`, "-1", "0", "65536", "1e99", odd(chooser)]),
    ],
  ];
  return object(chooser.bent(chooser.chance(0.6) ? unix : tcp, 0.05));
}

/** Returns a value that Node's connect() would accept as an address, or one that every program refuses. */
function odd(chooser: Chooser): string {
  return chooser.pick([
    PORT,
    `"${PORT}"`,
    `{"host":"127.0.0.1","port":${PORT}}`,
    `[${PORT}]`,
    `"${"long/".repeat(60)}"`,
    '"relative.sock"',
    '"/tmp/nul\\u0000byte"',
    '"127.0.0.1\\r\\nX: y"',
    chooser.json(1),
  ]);
}

type AnyDoor = { kind?: unknown; path?: unknown; host?: unknown; port?: unknown };

function doorsOf(text: string): AnyDoor[] {
  try {
    const { doors } = JSON.parse(text) as { doors: unknown };
    return Array.isArray(doors) ? (doors.filter((one) => typeof one === "object" && one !== null) as AnyDoor[]) : [];
  } catch {
    return [];
  }
}

function configOf(lane: number, token: boolean): Config {
  const env = { HOME: join(folder, `home-${lane}`), ...(token && { MEMPALACE_TOKEN: TOKEN }) };
  return loadConfig(env);
}

function place(path: string, text: string, special: keyof typeof SPECIALS | undefined): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  if (special === undefined) writeFileSync(path, text);
  else symlinkSync(join(folder, SPECIALS[special]).replace(`${folder}/dev/`, "/dev/"), path);
}

function answerAs(instanceId: string, protocol: object): (socket: Socket) => void {
  const health = JSON.stringify({ status: "ready", instanceId, version: "0", protocol });
  const head = `palace-instance: ${instanceId}\r\nContent-Length: ${health.length}\r\n\r\n${health}`;
  // One answer serves both requests: a health request ends after its Content-Length, a stream continues.
  return (socket) => socket.end(`HTTP/1.1 101 Switching Protocols\r\n${head}`);
}

async function listen(at: ListenOptions, serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => serve(socket.on("error", () => {})));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(at, resolve));
  return server;
}
