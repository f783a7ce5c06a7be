/**
 * A door: HTTP/1.1 on a UNIX socket or a TCP port. Establishes who connects, upgrades to streams, routes the few paths there
 * are. Knows nothing of the palace. On the UNIX socket the kernel says who it is, over TCP a token does (guard.ts).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { PeerCredentials } from "../../platform/libc.ts";
import type { Log } from "../../platform/log.ts";
import { PEERS_MAX } from "../../protocol/limits.ts";
import { agentName } from "../../protocol/agent-name.ts";
import { AUTH_PATH, CHALLENGE_HEADER } from "../../protocol/proof.ts";
import { AGENT_HEADER, PROTOCOL_HEADER, type Role, TOOLS_HEADER } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import type { Dispatch } from "../engine.ts";
import { type Peer, toolProfile } from "../peer.ts";
import type { Guard, Refusal } from "./guard.ts";
import { listenTcp, listenUnix, type TcpAddress } from "./listen.ts";
import { Stream } from "./stream.ts";

export type Route = (request: IncomingMessage, response: ServerResponse, peer: Peer) => void | Promise<void>;

export type DoorOptions = {
  at:
    | {
        kind: "unix";
        path: string;
        /** Everything over the user's own socket; less over the one that the SSH gate leads to. */
        role: Role;
        name: "unix" | "gate";
        credentials: (socket: Socket) => PeerCredentials | undefined;
      }
    | ({ kind: "tcp"; guard: Guard } & TcpAddress);
  instanceHeader: [name: string, value: string];
  dispatch: Dispatch;
  /** Path → answer. */
  routes: ReadonlyMap<string, Route>;
  /** A peer came, asked or went. */
  onPeers: () => void;
  /** A connection that had said something is closed. */
  onLeft: (peerId: number) => void;
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
/** How long a refused peer may take to read why. */
const REFUSED_MAX_MS = 2_000;
/** How soon a revoked token's streams are cut. */
const REVOKED_CHECK_MS = 500;

type Admitted = { peer: Peer; headers: Record<string, string>; tokenId: string | undefined };

let lastPeer = 0;

/**
 * The UNIX door only while holding the lifetime lock: a leftover socket is removed. Errors: STORE_READ_ONLY, CONFIG_BAD_VALUE.
 */
export async function openDoor(options: DoorOptions): Promise<OpenDoor> {
  const { at, log } = options;
  const streams = new Map<number, { stream: Stream; socket: Socket; tokenId: string | undefined }>();
  const unixPeers = new WeakMap<Socket, PeerCredentials>();
  const peerIds = new WeakMap<Socket, number>();
  let requests = 0;
  let quiet: PromiseWithResolvers<void> | undefined;

  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: 16 * 1024,
  });
  server.maxConnections = PEERS_MAX;
  if (at.kind === "unix")
    server.on("connection", (socket: Socket) => {
      const { uid, pid } = at.credentials(socket) ?? { uid: -1, pid: 0 };
      const own = process.getuid?.() ?? -1;
      // Root may come in anyway: it could read the files themselves.
      if (uid !== -1 && own !== -1 && uid !== own && uid !== 0) {
        log.warn("foreign user refused", { uid, pid });
        socket.destroy();
        return;
      }
      unixPeers.set(socket, { uid, pid });
    });

  /** Undefined: the connection was refused and is gone already. */
  const admit = (request: IncomingMessage, fallback: string): Admitted | Refusal | undefined => {
    const claimed = agentName(request.headers[AGENT_HEADER] ?? fallback);
    const tools = toolProfile(request.headers[TOOLS_HEADER] ?? queryOf(request).get("tools"));
    const peerId = peerIds.get(request.socket) ?? ++lastPeer;
    if (!peerIds.has(request.socket)) request.socket.once("close", () => options.onLeft(peerId));
    peerIds.set(request.socket, peerId);
    if (at.kind === "unix") {
      const credentials = unixPeers.get(request.socket);
      if (credentials === undefined) return undefined;
      const peer: Peer = { id: peerId, agent: claimed, door: at.name, role: at.role, ...credentials, tools };
      return { peer, headers: {}, tokenId: undefined };
    }
    const admission = at.guard.admit(request, pathOf(request));
    if (!admission.ok) {
      const { status, why } = admission;
      // Who floods us with failures floods no log with it.
      if (status !== 429)
        log.warn("refused", {
          door: "tcp",
          status,
          why,
          address: request.socket.remoteAddress ?? "",
          path: pathOf(request),
        });
      return admission;
    }
    const { id, name, role } = admission.token;
    const peer: Peer = { id: peerId, agent: `${name}:${claimed}`, door: "tcp", role, uid: -1, pid: 0, tools };
    return { peer, headers: admission.headers, tokenId: id };
  };

  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node takes its own listener away with the upgrade; a peer that is gone already must not end us.
    socket.on("error", () => {});
    const isStream = request.headers.upgrade === "mcp" && pathOf(request) === "/mcp";
    const admitted = isStream ? admit(request, "unknown") : BAD_UPGRADE;
    if (admitted === undefined) return void socket.destroy();
    if (!("peer" in admitted)) return refuse(socket, admitted);
    const { peer, headers, tokenId } = admitted;
    socket.setTimeout(0);
    const protocol: [string, string] = [PROTOCOL_HEADER, `${PROTOCOL.min}-${PROTOCOL.max}`];
    const lines = [options.instanceHeader, protocol, ...Object.entries(headers)].map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n${lines.join("")}\r\n`);
    const stream = new Stream({ socket, head, peer, dispatch: options.dispatch, log });
    streams.set(peer.id, { stream, socket, tokenId });
    options.onPeers();
    socket.on("close", () => {
      streams.delete(peer.id);
      options.onPeers();
    });
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1;
    const path = pathOf(request);
    try {
      if (at.kind === "tcp" && path === AUTH_PATH) {
        return void response
          .writeHead(401, { [CHALLENGE_HEADER]: at.guard.challenge(request), "content-length": 0 })
          .end();
      }
      const admitted = admit(request, "http");
      if (admitted === undefined) return void request.socket.destroy();
      if (!("peer" in admitted)) {
        const { status, why, headers } = admitted;
        return void response.writeHead(status, { ...headers, "content-type": "text/plain" }).end(`${why}\n`);
      }
      for (const [name, value] of Object.entries(admitted.headers)) response.setHeader(name, value);
      const route = options.routes.get(path);
      if (route === undefined) return void response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      if (path === "/mcp") options.onPeers();
      await route(request, response, admitted.peer);
    } catch (error) {
      log.error("route failed", { path, why: String(error) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    } finally {
      requests -= 1;
      if (requests === 0) quiet?.resolve();
    }
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => void answer(request, response));

  await listen(server, at);
  const revoked = setInterval(() => {
    if (at.kind === "unix") return;
    for (const { socket, tokenId } of streams.values())
      if (tokenId !== undefined && !at.guard.isValid(tokenId)) socket.destroy();
  }, REVOKED_CHECK_MS).unref();
  return {
    peers: () => streams.size + requests,
    async close() {
      clearInterval(revoked);
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([...streams.values()].map(({ stream }) => stream.end()));
      if (requests > 0) await (quiet = Promise.withResolvers()).promise;
      server.closeAllConnections();
      await closed;
    },
  };
}

const BAD_UPGRADE: Refusal = { ok: false, status: 400, why: "only /mcp upgrades, to mcp", headers: {} };

function listen(server: Server, at: DoorOptions["at"]): Promise<void> {
  return at.kind === "unix" ? listenUnix(server, at.path) : listenTcp(server, at);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

function queryOf(request: IncomingMessage): URLSearchParams {
  const [, query = ""] = (request.url ?? "/").split("?", 2);
  return new URLSearchParams(query);
}

/** Node has let go of the socket: unless it is read on nobody notices its end, and a peer may never end it. */
function refuse(socket: Socket, refusal: Refusal): void {
  socket.end(refusalHead(refusal));
  socket.resume();
  socket.setTimeout(REFUSED_MAX_MS, () => socket.destroy());
}

function refusalHead({ status, why, headers }: Refusal): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nConnection: close\r\n${lines.join("")}Content-Length: ${why.length + 1}\r\n\r\n${why}\n`;
}
