/**
 * The UNIX door: HTTP/1.1 on a socket in a 0700 folder. Establishes who connects, upgrades to streams, routes the few
 * paths there are. Knows nothing of the palace.
 */
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { dirname } from "node:path";
import type { Log } from "../platform/log.ts";
import type { PeerCredentials } from "../platform/libc.ts";
import { PalaceError } from "../protocol/errors.ts";
import { PEERS_MAX } from "../protocol/limits.ts";
import { AGENT_HEADER } from "../protocol/spec.ts";
import type { Dispatch } from "./methods.ts";
import { agentName, type Peer } from "./peer.ts";
import { serveStream, type Stream } from "./stream.ts";

export type Route = (request: IncomingMessage, response: ServerResponse, peer: Peer) => void | Promise<void>;

export type DoorOptions = {
  socketPath: string;
  instanceHeader: [name: string, value: string];
  dispatch: Dispatch;
  /** Path → answer. */
  routes: ReadonlyMap<string, Route>;
  credentials: (socket: Socket) => PeerCredentials | undefined;
  onPeers: (open: number) => void;
  log: Log;
};

export type OpenDoor = {
  peers(): number;
  /** Takes no more connections; answers what is under way, then ends the streams. */
  close(): Promise<void>;
};

const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than clients keep an idle connection, so that they close it and never write into one that we just closed. */
const KEEP_ALIVE_MS = 75_000;

/** Only call while holding the lifetime lock: a leftover socket is removed. Errors: STORE_READ_ONLY, CONFIG_BAD_VALUE. */
export async function openDoor(options: DoorOptions): Promise<OpenDoor> {
  const { socketPath, log } = options;
  const streams = new Map<number, Stream>();
  const peers = new WeakMap<Socket, Peer>();
  let lastPeer = 0;
  let requests = 0;
  let quiet: PromiseWithResolvers<void> | undefined;

  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: 16 * 1024,
  });
  server.maxConnections = PEERS_MAX;
  server.on("connection", (socket: Socket) => {
    const { uid, pid } = options.credentials(socket) ?? { uid: -1, pid: 0 };
    const own = process.getuid?.() ?? -1;
    // Root may come in anyway: it could read the files themselves.
    if (uid !== -1 && own !== -1 && uid !== own && uid !== 0) {
      log.warn("foreign user refused", { uid, pid });
      socket.destroy();
      return;
    }
    peers.set(socket, { id: ++lastPeer, agent: "http", door: "unix", uid, pid });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void answer(request, response);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node takes its own listener away with the upgrade; a peer that is gone already must not end us.
    socket.on("error", () => {});
    const peer = peers.get(socket);
    if (peer === undefined || request.headers.upgrade !== "mcp" || path(request) !== "/mcp") {
      socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    peer.agent = agentName(request.headers[AGENT_HEADER]);
    socket.setTimeout(0);
    const [name, value] = options.instanceHeader;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n${name}: ${value}\r\n\r\n`,
    );
    streams.set(peer.id, serveStream({ socket, head, peer, dispatch: options.dispatch, log }));
    options.onPeers(streams.size);
    socket.on("close", () => {
      streams.delete(peer.id);
      options.onPeers(streams.size);
    });
  });

  const open = (): number => streams.size + requests;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1;
    const peer = peers.get(request.socket);
    const route = options.routes.get(path(request));
    try {
      if (peer === undefined) return void request.socket.destroy();
      if (route === undefined) return void response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      if (path(request) === "/mcp") options.onPeers(open());
      await route(request, response, { ...peer, agent: agentName(request.headers[AGENT_HEADER] ?? "http") });
    } catch (error) {
      log.error("route failed", { path: path(request), why: String(error) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    } finally {
      requests -= 1;
      if (requests === 0) quiet?.resolve();
    }
  };

  await listen(server, socketPath);
  return {
    peers: open,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([...streams.values()].map((stream) => stream.end()));
      if (requests > 0) await (quiet = Promise.withResolvers()).promise;
      server.closeAllConnections();
      await closed;
    },
  };
}

function path(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

async function listen(server: Server, socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const leftover = lstatSync(socketPath, { throwIfNoEntry: false });
    if (leftover !== undefined && !leftover.isSocket()) {
      throw new PalaceError(
        "CONFIG_BAD_VALUE",
        `${socketPath} is in the way and is no socket`,
        `look at it, then: rm ${socketPath}`,
      );
    }
    rmSync(socketPath, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath, () => resolve());
    });
    chmodSync(socketPath, 0o600);
  } catch (error) {
    if (error instanceof PalaceError) throw error;
    throw new PalaceError(
      "STORE_READ_ONLY",
      `no socket can be made in ${folder}`,
      "set XDG_RUNTIME_DIR to a folder of yours on a local disk",
      { cause: error },
    );
  }
}
