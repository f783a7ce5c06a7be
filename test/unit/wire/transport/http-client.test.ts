/** Tests the client's HTTP exchanges with a server that answers in pieces, too much, too little or not at all. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ask, get, upgrade } from "../../../../src/wire/transport/http-client.ts";

let server: Server | undefined;
let asked = "";

afterEach(() => {
  server?.close();
  asked = "";
});

/** Connects to a server that waits for a request, sends these pieces one after the other, and then ends or waits. */
async function dialled(pieces: readonly string[], ends = false): Promise<Socket> {
  server = createServer((socket) => {
    socket.setNoDelay().on("error", () => {});
    socket.once("data", (bytes: Buffer) => {
      asked = bytes.toString();
      void (async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise(setImmediate);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        if (ends) socket.end();
      })();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return connect((server.address() as AddressInfo).port, "127.0.0.1");
}
const inPieces = (text: string, size: number): string[] => text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: mcp\r\nPalace-Version:  7 \r\n\r\n";

test.each([1, 7, 1_000])(
  "the client reads the headers of an upgrade in pieces of %i bytes and keeps the bytes after the headers",
  async (size) => {
    const socket = await dialled(inPieces(`${SWITCHING}{"id":1}\n`, size));
    const { status, headers, rest } = await upgrade(socket, { Agent: "ada\nlovelace" });
    expect([status, headers.get("palace-version"), headers.get("upgrade")]).toEqual([101, "7", "mcp"]);
    expect('{"id":1}\n'.startsWith(rest.toString())).toBe(true);
    // The connection is paused, so the remaining bytes wait for their reader.
    expect(socket.isPaused()).toBe(true);
    expect(asked).toBe(
      "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: mcp\r\nAgent: ada?lovelace\r\n\r\n",
    );
    socket.destroy();
  },
);

test("the client reads a body up to its length and closes the connection", async () => {
  const text = `HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"ok":"é"}more`;
  const socket = await dialled(inPieces(text, 9));
  expect(await get(socket, "/health")).toMatchObject({ status: 200, body: '{"ok":"é"}' });
  expect(socket.destroyed).toBe(true);
});

test.each(["", "Content-Length: 1e3\r\n", "Content-Length: -5\r\n", "Content-Length: 1048577\r\n"])(
  "the client refuses a body of unknown or huge length (%j)",
  async (header) => {
    const socket = await dialled([`HTTP/1.1 200 OK\r\n${header}\r\nx`]);
    await expect(get(socket, "/health")).rejects.toMatchObject({ code: "TRANSPORT_REFUSED" });
    expect(socket.destroyed).toBe(true);
  },
);

test("the client returns an answer's header and leaves the connection open, or closes it if the header is missing", async () => {
  const answer = "HTTP/1.1 204 No Content\r\nPalace-Nonce: abc\r\n\r\n";
  const socket = await dialled([answer]);
  expect(await ask(socket, "/nonce", "palace-nonce", {})).toBe("abc");
  expect(socket.destroyed).toBe(false);
  socket.destroy();
  const other = await dialled([answer]);
  await expect(ask(other, "/nonce", "palace-proof", {})).rejects.toMatchObject({ code: "TRANSPORT_REFUSED" });
  expect(other.destroyed).toBe(true);
});

test.each([
  ["HTTP/1.1 401 Unauthorized\r\n\r\n", { code: "BROKER_DENIED", message: /token: it is wrong, revoked or expired/ }],
  ["HTTP/1.1 403 Forbidden\r\n\r\n", { code: "BROKER_DENIED", message: /refuses this address \(403\)/ }],
  ["HTTP/1.1 421 Misdirected\r\n\r\n", { code: "BROKER_DENIED", message: /refuses this address \(421\)/ }],
  ["HTTP/1.1 429 Too Many\r\n\r\n", { code: "BROKER_BUSY", message: /this token too often/ }],
  [
    "HTTP/1.1 429 Too Many\r\nPalace-Refused: too many of yours\r\n\r\n",
    { code: "BROKER_BUSY", message: /too many of yours/ },
  ],
  ["HTTP/1.1 200 OK\r\n\r\n", { code: "TRANSPORT_REFUSED", message: /answers 200/ }],
  ["SSH-2.0-OpenSSH_9.9\r\n\r\n", { code: "TRANSPORT_REFUSED", message: /answers 0/ }],
  [`HTTP/1.1 101 Ok\r\nLong: ${"x".repeat(17_000)}`, { code: "TRANSPORT_REFUSED", message: /no HTTP head/ }],
])("the answer %j to an upgrade causes an error with the reason", async (answer, { code, message }) => {
  const socket = await dialled([answer]);
  await expect(upgrade(socket, {})).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
  expect(socket.destroyed).toBe(true);
});

test("an incomplete answer causes an error, and a missing answer times out", async () => {
  await expect(upgrade(await dialled(["HTTP/1.1 101 Swi"], true), {})).rejects.toMatchObject({
    code: "TRANSPORT_CLOSED",
  });
  const silent = await dialled([]);
  await expect(upgrade(silent, {}, 50)).rejects.toMatchObject({ code: "TRANSPORT_TIMEOUT" });
  expect(silent.destroyed).toBe(true);
});

test("the time limit of a GET also limits its body", async () => {
  const socket = await dialled(["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "h"]);
  setTimeout(() => socket.emit("data", Buffer.from("alf")), 1_000).unref();
  await expect(get(socket, "/health", {}, 100)).rejects.toMatchObject({ code: "TRANSPORT_TIMEOUT" });
});
