/** Clients and brokers of different versions: they work together while their ranges meet, and part with a word when not. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStream } from "../../../src/client/discover.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { PROTOCOL } from "../../../src/protocol/version.ts";

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

/** A broker that answers the upgrade with these headers. */
async function serve(...headers: string[]): Promise<ReturnType<typeof openStream>> {
  const path = join(folder, "broker.sock");
  server = createServer((socket) => {
    socket.on("error", () => {}).on("close", () => (ended += 1));
    const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: mcp", ...headers];
    socket.once("data", () => socket.write(`${lines.join("\r\n")}\r\n\r\n`));
  }).listen(path);
  await once(server, "listening");
  return openStream(loadConfig({ HOME: folder, MEMPALACE_BROKER: `unix:${path}` }), "test");
}

test("a broker that speaks more than we do, or less, is taken while the ranges meet", async () => {
  for (const range of [`${PROTOCOL.min}-${PROTOCOL.max + 5}`, `0-${PROTOCOL.min}`, `${PROTOCOL.max}-99`]) {
    const stream = await serve(`palace-protocol: ${range}`);
    expect(stream, range).toBeDefined();
    stream?.socket.destroy();
    server?.close();
    rmSync(join(folder, "broker.sock"), { force: true });
  }
});

test("a broker of before the header, or with one that says nothing, is taken", async () => {
  for (const header of ["palace-instance: x", "palace-protocol: what", "palace-protocol: -3"]) {
    const stream = await serve(header);
    expect(stream, header).toBeDefined();
    stream?.socket.destroy();
    server?.close();
    rmSync(join(folder, "broker.sock"), { force: true });
  }
});

test("where the ranges do not meet the client goes, says what to type, and leaves the broker alone", async () => {
  await expect(serve(`palace-protocol: ${PROTOCOL.max + 1}-${PROTOCOL.max + 9}`)).rejects.toMatchObject({
    code: "PROTOCOL_VERSION_MISMATCH",
    hint: expect.stringContaining("palace restart") as string,
  });
  await expect.poll(() => ended).toBe(1);
  expect(server?.listening).toBe(true);
});
