/** Clients and brokers of different versions work together if their protocol ranges overlap. Otherwise the error says what to do. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStream } from "../../../../src/wire/client/discover.ts";
import { toPalaceError } from "../../../../src/wire/client/client.ts";
import { loadConfig } from "../../../../src/config/config.ts";
import { PROTOCOL } from "../../../../src/protocol/version.ts";
import { parseEndpoint } from "../../../../src/wire/transport/endpoint.ts";

let folder: string;
let server: Server | undefined;
let ended = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "versions-"));
  ended = 0;
});
afterEach(() => {
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a broker that answers the upgrade with these headers. */
function serve(...headers: string[]): ReturnType<typeof openStream> {
  return serveLines("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: mcp", ...headers);
}

async function serveLines(...lines: string[]): Promise<Awaited<ReturnType<typeof openStream>>> {
  const path = join(folder, "broker.sock");
  server = createServer((socket) => {
    socket.on("error", () => {}).on("close", () => (ended += 1));
    socket.once("data", () => socket.write(`${lines.join("\r\n")}\r\n\r\n`));
  }).listen(path);
  await once(server, "listening");
  return openStream(loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${path}` }), "test");
}

test("the client accepts a broker with an overlapping version range", async () => {
  for (const range of [`${PROTOCOL.min}-${PROTOCOL.max + 5}`, `0-${PROTOCOL.min}`, `${PROTOCOL.max}-99`]) {
    const stream = await serve(`palace-protocol: ${range}`);
    expect(stream, range).toBeDefined();
    stream?.socket.destroy();
    server?.close();
    rmSync(join(folder, "broker.sock"), { force: true });
  }
});

test("the client accepts a broker with a missing or unreadable version header", async () => {
  for (const header of ["palace-instance: x", "palace-protocol: what", "palace-protocol: -3"]) {
    const stream = await serve(header);
    expect(stream, header).toBeDefined();
    stream?.socket.destroy();
    server?.close();
    rmSync(join(folder, "broker.sock"), { force: true });
  }
});

test("if the version ranges do not overlap, the client disconnects and says what to type", async () => {
  await expect(serve(`palace-protocol: ${PROTOCOL.max + 1}-${PROTOCOL.max + 9}`)).rejects.toMatchObject({
    code: "PROTOCOL_VERSION_MISMATCH",
    hint: expect.stringContaining("palace restart") as string,
  });
  await expect.poll(() => ended).toBe(1);
  expect(server?.listening).toBe(true);
});

test.each([
  [401, "BROKER_DENIED", /token/],
  [403, "BROKER_DENIED", /\(403\)/],
  [421, "BROKER_DENIED", /\(421\)/],
  [429, "BROKER_BUSY", /too often/],
])("the client reports a broker that answers %i as %s", async (status, code, message) => {
  const refused = serveLines(`HTTP/1.1 ${status} Refused`);
  await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
});

test("an endpoint's port is at most 65,535", () => {
  expect(parseEndpoint("http://h:65535")).toEqual({ kind: "tcp", host: "h", port: 65_535 });
  expect(() => parseEndpoint("http://h:65536")).toThrow(/is not an endpoint/);
});

test("the client removes the hint from the end of an error's message, because the error has the hint in its own field", () => {
  const said = (message: string) =>
    toPalaceError({ code: -32_000, message, data: { code: "BROKER_DENIED", hint: "do this" } });
  expect(said("no; do this")).toMatchObject({ message: "no", hint: "do this" });
  expect(said("no, you may not")).toMatchObject({ message: "no, you may not", hint: "do this" });
});
