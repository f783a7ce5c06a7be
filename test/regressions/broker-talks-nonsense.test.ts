/** A line that is not a valid answer ended the client's process with an uncaught exception. Found by fuzzing the client. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Link } from "../../src/wire/client/link.ts";
import { loadConfig } from "../../src/config/config.ts";
import { dial } from "../../src/wire/transport/endpoint.ts";
import { get } from "../../src/wire/transport/http-client.ts";

/** Listens at a socket as a broker would, while `work` runs. */
async function behind(
  serve: (socket: Socket) => void,
  work: (path: string, home: string) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "palace-"));
  const path = join(home, "s.sock");
  const server = createServer((socket) => void socket.on("error", () => {}).once("data", () => serve(socket)));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await work(path, home);
  server.close();
  rmSync(home, { recursive: true });
}

test.each(["garbage", "null", "[", '{"id":1,"error":null}'])(
  "the client repeats its call on a new connection after the line %s",
  async (line) => {
    let connections = 0;
    const serve = (socket: Socket): void => {
      connections += 1;
      socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
      if (connections === 1) socket.write(`${line}\n`);
      else socket.write('{"jsonrpc":"2.0","id":1,"result":"right"}\n');
    };
    await behind(serve, async (path, home) => {
      const answer = Promise.withResolvers<string>();
      const config = loadConfig({ HOME: home, MEMPALACE_BROKER: `unix:${path}` });
      const link = new Link({
        config,
        agent: "test",
        start: "never",
        onLine: (text) => answer.resolve(text.toString()),
      });
      link.send(1, '{"jsonrpc":"2.0","id":1,"method":"ping"}');
      expect(await answer.promise).toContain("right");
      link.close();
    });
  },
);

test.each(["-5", "1e3", "0x10"])("the client refuses an answer of %s bytes", async (length) => {
  const serve = (socket: Socket): void =>
    void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(2000)}`);
  await behind(serve, async (path) => {
    await expect(get(await dial({ kind: "unix", path }), "/health")).rejects.toMatchObject({
      code: "TRANSPORT_REFUSED",
    });
  });
});
