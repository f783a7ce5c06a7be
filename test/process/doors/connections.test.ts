import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { PEER_CONNECTIONS_MAX } from "../../../src/protocol/limits.ts";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../../src/wire/transport/http-client.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const port = await freePort();
const palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
const sockets: Socket[] = [];
let token = "";

beforeAll(async () => {
  await palace.startBroker();
  const { stdout } = await palace.run("palace", ["token", "add", "box", "--json"]);
  ({ token } = JSON.parse(stdout) as { token: string });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await palace[Symbol.asyncDispose]();
});

test("1,100 TCP connections without a token are closed, and a client with a token still gets an answer", async () => {
  let connected = 0;
  const silent = Array.from({ length: 1_100 }, () =>
    connect(port, "127.0.0.1", function (this: Socket) {
      connected += 1;
      this.write("GET /api/health HTTP/1.1\r\n");
    }).on("error", () => {}),
  );
  sockets.push(...silent);
  // More silent connections arrive while the loop below asks for /health.
  await expect.poll(() => connected).toBeGreaterThan(500);
  for (let times = 0; times < 5; times++) {
    const { status } = await fetch(`http://127.0.0.1:${port}/health`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(status).toBe(200);
  }
  for (const socket of silent) socket.resume();
  await expect.poll(() => silent.filter(({ closed }) => !closed).length).toBe(0);
});

test("a peer that uses up its share of connections is refused with the reason, and other peers still connect", async () => {
  const open = async (): Promise<void> => {
    const socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
    await upgrade(
      socket.on("error", () => {}),
      {},
    );
    sockets.push(socket.resume());
  };
  for (let nth = 0; nth < PEER_CONNECTIONS_MAX; nth++) await open();
  const why = { code: "BROKER_BUSY", message: expect.stringMatching(/^too many connections of process \d+/) as string };
  await expect(open()).rejects.toMatchObject(why);
  await expect(connectClient({ config: palace.config, agent: "one more", start: "never" })).rejects.toMatchObject(why);
  const { code, stdout } = await palace.run("palace", ["status"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("broker\tready")]);
  sockets.at(-1)?.destroy();
  await expect
    .poll(() =>
      open().then(
        () => "there is room again",
        () => "full",
      ),
    )
    .toBe("there is room again");
});
