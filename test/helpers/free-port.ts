/** Finds a port on which no process listens. Another process may take it before the caller does. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

export async function freePort(address = "127.0.0.1"): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** First port to try. The ports are below the range from which the system chooses ports for outgoing connections. */
const QUIET_FROM = 12_000;
const QUIET_COUNT = 18_000;

/** Finds a port on which no process listens and that no outgoing connection will take. */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = QUIET_FROM + Math.floor(Math.random() * QUIET_COUNT);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
