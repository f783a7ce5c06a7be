/** A door: HTTP/1.1 on a UNIX socket or a TCP port. It identifies the peer, upgrades requests to streams and routes HTTP paths. */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Server as NetServer, Socket } from "node:net";
import type { PeerCredentials } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import { agentName } from "../../protocol/agent-name.ts";
import { AUTH_PATH, CHALLENGE_HEADER } from "../../protocol/proof.ts";
import { namesInLine } from "../../protocol/project-header.ts";
import {
  AGENT_HEADER,
  MCP_VERSION_HEADER,
  PROJECT_HEADER,
  PROTOCOL_HEADER,
  TOOLS_HEADER,
} from "../../protocol/headers.ts";
import { type Role } from "../../protocol/spec.ts";
import { PROTOCOL } from "../../protocol/version.ts";
import type { Dispatch } from "../engine.ts";
import { mcpRevision, type Peer, toolProfile } from "../peer.ts";
import { forwardedServer } from "./forwarded.ts";
import { REFUSED_MAX_MS, skipBody } from "./body.ts";
import type { Guard, Refusal } from "./guard.ts";
import type { Held, Holder } from "./held.ts";
import { listenTcp, listenUnix, type TcpAddress } from "./listen.ts";
import { Places } from "./places.ts";
import type { Starts } from "./starts.ts";
import { Stream } from "./stream.ts";
import { REVOKED_CHECK_MS } from "./tokens.ts";

/** Beginning of the paths of Roampal's HTTP API. */
export const API_PATHS = "/api/";
export const PAGE_PATHS = "/ui/";

const HOOK_PATHS = "/api/hooks/";
/** Empty answer with all fields that Roampal's hooks and plugins read. Source: outcome-memory.md 4.4–4.6. */
const NOTHING = {
  formatted_injection: "",
  scoring_prompt: "",
  scoring_prompt_simple: "",
  context_only: "",
  scoring_required: false,
  scoring_exchange: null,
  scoring_memories: null,
  user_facts: [],
  relevant_memories: [],
  context_summary: "",
  stored: false,
  doc_id: "",
  scoring_complete: false,
  should_block: false,
  block_message: null,
  scored: false,
};
const HOW = "the owner of the palace types: palace outcome door --local";

export type Route = (request: IncomingMessage, response: ServerResponse, peer: Peer) => void | Promise<void>;

export type DoorOptions = {
  at:
    | {
        kind: "unix";
        path: string;
        /** The user's own socket gives the role admin, and the SSH gate's socket a lower role. */
        role: Role;
        name: "unix" | "gate";
        credentials: (socket: Socket) => PeerCredentials | undefined;
      }
    | ({
        kind: "tcp";
        guard: Pick<Guard, "admit" | "challenge" | "isValid">;
        /** Set for the page's door only. */
        name?: "ui";
        /** Socket that gets the port's connections if another process holds the port. */
        forwarded?: string;
      } & TcpAddress);
  instanceHeader: [name: string, value: string];
  dispatch: Dispatch;
  held: Held;
  starts: Starts;
  /** Handlers of HTTP requests by path. The routes `/api/*` and `/ui/*` serve every other path below them. */
  routes: ReadonlyMap<string, Route>;
  /** Called when a peer connects, sends a request or disconnects. */
  onPeers: () => void;
  /** Called when a connection that had sent a request closes. */
  onLeft: (peerId: number) => void;
  log: Log;
};

const HEADERS_TIMEOUT_MS = 10_000;
/** Time that an idle connection stays open. Clients close idle connections earlier, so no client writes into a closing connection. */
const KEEP_ALIVE_MS = 75_000;

type Admitted = { peer: Peer; headers: Record<string, string>; tokenId: string | undefined };
type OpenStream = { stream: Stream; socket: Socket; tokenId: string | undefined };

let lastPeer = 0;

/** Opens a door. A UNIX door needs the lifetime lock, because it removes a leftover socket. Errors: STORE_READ_ONLY, CONFIG_BAD_VALUE. */
export async function openDoor(options: DoorOptions): Promise<OpenDoor> {
  const door = new OpenDoor(options);
  await door.listen();
  return door;
}

export class OpenDoor {
  readonly #options: DoorOptions;
  readonly #server: Server;
  readonly #places: Places;
  readonly #listener: NetServer;
  readonly #streams = new Map<number, OpenStream>();
  readonly #unixPeers = new WeakMap<Socket, PeerCredentials>();
  readonly #peerIds = new WeakMap<Socket, number>();
  #revoked: NodeJS.Timeout | undefined;
  #requests = 0;
  #quiet: PromiseWithResolvers<void> | undefined;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#server = createServer({
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: 16 * 1024,
    });
    this.#listener =
      options.at.kind === "tcp" && options.at.forwarded !== undefined ? forwardedServer(this.#server) : this.#server;
    this.#places = new Places(options.log);
    this.#server.on("connection", (socket: Socket) => {
      if (options.at.kind === "tcp" || this.#identify(socket)) this.#places.arrive(socket);
    });
    this.#server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    this.#server.on(
      "request",
      (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response),
    );
  }

  async listen(): Promise<void> {
    const { at } = this.#options;
    const path = at.kind === "unix" ? at.path : at.forwarded;
    await (path === undefined ? listenTcp(this.#listener, at as TcpAddress) : listenUnix(this.#listener, path));
    if (at.kind === "tcp") this.#revoked = setInterval(() => this.#cutRevoked(at.guard), REVOKED_CHECK_MS).unref();
  }

  /** Number of streams and running requests. */
  get peers(): number {
    return this.#streams.size + this.#requests;
  }

  /** The port of a TCP door; 0 for a UNIX socket. */
  get port(): number {
    const address = this.#listener.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Accepts no more connections, answers running requests, then ends the streams. */
  async close(): Promise<void> {
    clearInterval(this.#revoked);
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    await Promise.all([...this.#streams.values()].map(({ stream }) => stream.end()));
    if (this.#requests > 0) await (this.#quiet = Promise.withResolvers()).promise;
    this.#server.closeAllConnections();
    await closed;
    if (this.#listener !== this.#server) this.#server.close();
  }

  /** Asks the kernel for the user at the other end. Returns false for a foreign user, whom it disconnects without reading a byte. */
  #identify(socket: Socket): boolean {
    const { at, log } = this.#options;
    const { uid, pid } = (at.kind === "unix" ? at.credentials(socket) : undefined) ?? { uid: -1, pid: 0 };
    const own = process.getuid?.() ?? -1;
    // Root is admitted, because root could read the files anyway.
    if (uid !== -1 && own !== -1 && uid !== own && uid !== 0) {
      log.warn("foreign user refused", { uid, pid });
      socket.destroy();
      return false;
    }
    this.#unixPeers.set(socket, { uid, pid });
    return true;
  }

  /** Admits a request or returns a refusal. Returns undefined if the connection was refused and is already closed. */
  #admit(request: IncomingMessage, fallback: string): Admitted | Refusal | undefined {
    const { at } = this.#options;
    const claimed = agentName(request.headers[AGENT_HEADER] ?? fallback);
    const tools = toolProfile(request.headers[TOOLS_HEADER] ?? queryOf(request).get("tools"));
    const project = namesInLine(request.headers[PROJECT_HEADER]);
    const asked = { tools, project, revision: mcpRevision(request.headers[MCP_VERSION_HEADER]) };
    const id = this.#peerId(request.socket);
    const reading = (): ReturnType<NonNullable<Peer["reading"]>> => this.#reading(request.socket);
    if (at.kind === "unix") {
      const credentials = this.#unixPeers.get(request.socket);
      if (credentials === undefined) return undefined;
      const { uid, pid } = credentials;
      const isOwner = at.name === "unix" && (claimed.startsWith("palace ") || pathOf(request) === "/health");
      const full = this.#places.admit(request.socket, { key: `${uid} ${pid}`, name: `process ${pid}`, isOwner });
      if (full !== undefined) return full;
      const peer: Peer = { id, agent: claimed, door: at.name, role: at.role, uid, pid, ...asked, reading };
      return { peer, headers: {}, tokenId: undefined };
    }
    const admission = at.guard.admit(request, pathOf(request));
    if (!admission.ok) {
      this.#logRefusal(request, admission);
      return admission;
    }
    const { id: tokenId, name, role } = admission.token;
    const full = this.#places.admit(request.socket, { key: tokenId, name: `the token ${name}`, isOwner: false });
    if (full !== undefined) return full;
    const peer: Peer = {
      id,
      agent: `${name}:${claimed}`,
      token: name,
      tokenId,
      door: at.name ?? at.kind,
      role,
      uid: -1,
      pid: 0,
      ...asked,
      reading,
    };
    return { peer, headers: admission.headers, tokenId };
  }

  #reading({ destroyed }: Socket): ReturnType<NonNullable<Peer["reading"]>> {
    if (destroyed) return "gone";
    return this.#options.held.unread.isOver ? "others wait" : "goes on";
  }

  /** Returns the number of the connection, which is the same for all its requests. */
  #peerId(socket: Socket): number {
    const known = this.#peerIds.get(socket);
    if (known !== undefined) return known;
    const id = ++lastPeer;
    this.#peerIds.set(socket, id);
    socket.once("close", () => this.#options.onLeft(id));
    return id;
  }

  /** Logs a refusal, except status 429: a peer with many failures would fill the log. */
  #logRefusal(request: IncomingMessage, { status, why }: Refusal): void {
    if (status === 429) return;
    const { at, log } = this.#options;
    const address = request.socket.remoteAddress ?? "";
    log.warn("refused", { door: at.kind === "tcp" ? "tcp" : at.name, status, why, address, path: pathOf(request) });
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // After an upgrade Node no longer listens for errors, and an unhandled error of a disconnected peer would end the broker.
    socket.on("error", () => {});
    const isStream = request.headers.upgrade === "mcp" && pathOf(request) === "/mcp";
    if (!isStream) this.#logRefusal(request, BAD_UPGRADE);
    const admitted = isStream ? this.#admit(request, "unknown") : BAD_UPGRADE;
    if (admitted === undefined) return void socket.destroy();
    if (!("peer" in admitted)) return refuse(socket, admitted);
    const { peer, headers, tokenId } = admitted;
    const { dispatch, held, starts, log, instanceHeader, onPeers } = this.#options;
    socket.setTimeout(0);
    const protocol: [string, string] = [PROTOCOL_HEADER, `${PROTOCOL.min}-${PROTOCOL.max}`];
    const lines = [instanceHeader, protocol, ...Object.entries(headers)].map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n${lines.join("")}\r\n`);
    this.#streams.set(peer.id, {
      stream: new Stream({ socket, head, peer, dispatch, held, starts, log }),
      socket,
      tokenId,
    });
    onPeers();
    socket.on("close", () => {
      this.#streams.delete(peer.id);
      onPeers();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests += 1;
    this.#holdAnswer(request, response);
    try {
      await this.#route(request, response);
    } catch (error) {
      this.#options.log.error("route failed", { path: pathOf(request), why: String(error) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) this.#quiet?.resolve();
    }
  }

  #holdAnswer({ socket }: IncomingMessage, response: ServerResponse): void {
    const { unread } = this.#options.held;
    const holder: Holder = { about: { address: socket.remoteAddress ?? "" }, cut: () => socket.destroy() };
    const look = (): void => unread.set(holder, response.writableLength, true);
    response.on("drain", look);
    response.on("prefinish", look);
    response.on("close", () => unread.set(holder, 0, true));
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { at, routes, onPeers } = this.#options;
    const path = pathOf(request);
    if (at.kind === "tcp" && path === AUTH_PATH) {
      const headers = { [CHALLENGE_HEADER]: at.guard.challenge(request), "content-length": 0 };
      return void response.writeHead(401, headers).end();
    }
    const admitted = this.#admit(request, "http");
    if (admitted === undefined) return void request.socket.destroy();
    if (!("peer" in admitted)) {
      const { why, headers } = admitted;
      const { status, type, body } = inItsForm(request, admitted.status, why);
      await skipBody(request);
      return void response.writeHead(status, { ...headers, "content-type": type }).end(body);
    }
    for (const [name, value] of Object.entries(admitted.headers)) response.setHeader(name, value);
    const prefix = [API_PATHS, PAGE_PATHS].find((one) => path.startsWith(one));
    const route = routes.get(path) ?? (prefix === undefined ? undefined : routes.get(`${prefix}*`));
    if (route === undefined) {
      await skipBody(request);
      return void response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
    }
    if (path === "/mcp" || path.startsWith(API_PATHS)) onPeers();
    await route(request, response, admitted.peer);
  }

  #cutRevoked(guard: Pick<Guard, "isValid">): void {
    for (const { socket, tokenId } of this.#streams.values())
      if (tokenId !== undefined && !guard.isValid(tokenId)) socket.destroy();
  }
}

const BAD_UPGRADE: Refusal = { ok: false, status: 400, why: "only /mcp can be upgraded, and only to mcp", headers: {} };

/** Returns a refusal as the path's clients read it. Roampal's hooks get an empty answer: they kill the port's process after an error. */
function inItsForm(
  request: IncomingMessage,
  status: number,
  why: string,
): { status: number; type: string; body: string } {
  const path = pathOf(request);
  if (!path.startsWith(API_PATHS)) return { status, type: "text/plain", body: `${why}\n` };
  const { authorization, origin } = request.headers;
  const isHook = path.startsWith(HOOK_PATHS) && authorization === undefined && origin === undefined;
  const isUnknown = status === 401 || status === 429;
  if (!isHook || !isUnknown) return { status, type: "application/json", body: `${JSON.stringify({ detail: why })}\n` };
  return {
    status: 200,
    type: "application/json",
    body: `${JSON.stringify({ ...NOTHING, detail: `${why}: ${HOW}` })}\n`,
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

function queryOf(request: IncomingMessage): URLSearchParams {
  const [, query = ""] = (request.url ?? "/").split("?", 2);
  return new URLSearchParams(query);
}

/** Refuses an upgrade. Node no longer handles the socket, so this function reads until the client closes it or a time-out ends it. */
function refuse(socket: Socket, refusal: Refusal): void {
  socket.end(refusalHead(refusal));
  socket.resume();
  socket.setTimeout(REFUSED_MAX_MS, () => socket.destroy());
}

function refusalHead({ status, why, headers }: Refusal): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nConnection: close\r\n${lines.join("")}Content-Length: ${why.length + 1}\r\n\r\n${why}\n`;
}
