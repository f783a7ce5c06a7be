/** Serves the page in the owner's browser. The door opens when a peer asks for a link and closes after a time without use. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isRecord } from "../../base/parse-json.ts";
import { PalaceError, unavailable } from "../../base/errors.ts";
import type { Role, StatusReport, UiLink } from "../../protocol/spec.ts";
import { readBody } from "../door/body.ts";
import { type OpenDoor, PAGE_PATHS, type Route } from "../door/door.ts";
import type { Held } from "../door/held.ts";
import type { Dispatch } from "../engine.ts";
import type { Peer } from "../peer.ts";
import { Sessions } from "./sessions.ts";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type PageOptions = {
  /** Opens the door. Errors: CONFIG_BAD_VALUE. */
  open: (guard: Sessions, routes: ReadonlyMap<string, Route>) => Promise<OpenDoor>;
  dispatch: Dispatch;
  held: Held;
  /** Returns false for a revoked or expired token. The sessions that were opened with the token then end. */
  isValidToken: (id: string) => boolean;
  status: () => StatusReport;
  onUsed: () => void;
};

const CLOSE_UNUSED_AFTER_MS = 15 * 60_000;
const LOOK_MS = 60_000;
const NEWS_MS = 1_000;
/** Without news, an empty line is sent after this number of `NEWS_MS` intervals, so that the connection does not seem dead. */
const STILL_HERE_TICKS = 15;
/** Bytes of news that a reader may leave unread before the page disconnects it. */
const UNREAD_NEWS_MAX = 256 * 1024;
/** Maximum size of a sign-in. Anybody on this machine may send one, so the limit is little more than the size of a link's token. */
const SIGN_IN_MAX_BYTES = 4_096;
/** Time limit of one sign-in. Slow sign-ins of other users would otherwise use up the page's connections. */
const SIGN_IN_MAX_MS = 2_000;
const HINT = "load the page again";
const RANK: Readonly<Record<Role, number>> = { reader: 0, agent: 1, admin: 2 };

export class Page {
  readonly #options: PageOptions;
  readonly #sessions: Sessions;
  /** Open event streams, with the ids of their sessions. */
  readonly #readers = new Map<ServerResponse, string>();
  #routes = new Map<string, Route>();
  #door: Promise<OpenDoor> | undefined;
  #openDoor: OpenDoor | undefined;
  #unused: NodeJS.Timeout | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #usedMs = 0;
  #ticks = 0;
  #last = "";

  constructor(options: PageOptions) {
    this.#options = options;
    this.#sessions = new Sessions(Date.now, options.isValidToken);
  }

  get peers(): number {
    return this.#openDoor?.peers ?? 0;
  }

  /**
   * Makes a link with the peer's role or a lower one. An admin's page can make the broker write files on this machine, so an admin who does
   * not use the owner's socket gets an agent's link. Errors: STORE_UNAVAILABLE, CONFIG_BAD_VALUE.
   */
  async link(
    { role: own, door: from, tokenId }: Pick<Peer, "role" | "door" | "tokenId">,
    wanted?: Role,
  ): Promise<UiLink> {
    const role = own === "admin" && from !== "unix" ? "agent" : own;
    const asked = wanted ?? role;
    this.#use();
    const door = await (this.#door ??= this.#open());
    const granted = RANK[asked] < RANK[role] ? asked : role;
    const { token, expiresAtMs } = this.#sessions.addLink(granted, tokenId);
    return { url: `http://127.0.0.1:${door.port}/ui/#${token}`, role: granted, expiresAtMs };
  }

  /** Returns the route that serves the page on the broker's other doors, with the same sign-in. */
  route(): [prefix: string, route: Route] {
    const serve: Route = async (request, response, { role: _role, ...peer }) => {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      const admission = this.#sessions.admit(request, path);
      if (!admission.ok) return sendJson(response, admission.status, { error: admission.why });
      const { id, name, role } = admission.token;
      const route = this.#routes.get(path);
      if (route === undefined) return sendJson(response, 404, { error: "there is no such page" });
      await route(request, response, {
        ...peer,
        role,
        agent: `${name}:${peer.agent}`,
        token: name,
        tokenId: id,
        door: "ui",
      });
    };
    return [`${PAGE_PATHS}*`, serve];
  }

  async close(): Promise<void> {
    clearInterval(this.#unused);
    clearInterval(this.#ticker);
    this.#sessions.clear();
    for (const reader of this.#readers.keys()) reader.end();
    const door = await this.#door?.catch(() => undefined);
    [this.#door, this.#openDoor] = [undefined, undefined];
    await door?.close();
  }

  async #open(): Promise<OpenDoor> {
    try {
      const routes = (this.#routes = fileRoutes());
      routes.set("/ui/session", (request, response, peer) => this.#signIn(request, response, peer));
      routes.set("/ui/rpc", (request, response, peer) => this.#call(request, response, peer));
      routes.set("/ui/events", (_request, response, peer) => this.#tellNews(response, peer));
      this.#openDoor = await this.#options.open(this.#sessions, routes);
    } catch (error) {
      this.#door = undefined;
      throw error;
    }
    this.#unused = setInterval(() => this.#closeUnused(), LOOK_MS).unref();
    return this.#openDoor;
  }

  #use(): void {
    this.#usedMs = performance.now();
    this.#options.onUsed();
  }

  #closeUnused(): void {
    if (this.#readers.size === 0 && performance.now() - this.#usedMs > CLOSE_UNUSED_AFTER_MS) void this.close();
  }

  async #signIn(request: IncomingMessage, response: ServerResponse, peer: Peer): Promise<void> {
    response.setHeader("connection", "close");
    const late = setTimeout(() => request.destroy(), SIGN_IN_MAX_MS);
    request.once("close", () => clearTimeout(late));
    const message = (await this.#read(request, response, peer, SIGN_IN_MAX_BYTES))?.message;
    if (message === undefined) return;
    const token = isRecord(message) ? message["token"] : undefined;
    const session = typeof token === "string" ? this.#sessions.exchange(token) : undefined;
    if (session === undefined) sendJson(response, 401, { error: "this link was used or is too old: type palace ui" });
    else sendJson(response, 200, session);
  }

  async #call(request: IncomingMessage, response: ServerResponse, peer: Peer): Promise<void> {
    const read = await this.#read(request, response, peer);
    if (read === undefined) return;
    sendJson(response, 200, (await this.#options.dispatch(peer, read.message, read.sizeBytes)) ?? {});
  }

  /** Returns the request's JSON-RPC message; undefined if the request was refused. */
  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    peer: Peer,
    maxBytes?: number,
  ): Promise<{ message: unknown; sizeBytes: number } | undefined> {
    this.#use();
    // A form on another site cannot send this content type.
    if (request.method !== "POST" || request.headers["content-type"] !== "application/json")
      return void response.writeHead(415, { ...SAFE_HEADERS, "content-length": 0, connection: "close" }).end();
    const body = await readBody(request, HINT, {
      peer,
      unfinished: this.#options.held.unfinished,
      ...(maxBytes !== undefined && { maxBytes }),
    });
    if (body === undefined) return undefined;
    if ("message" in body && body.message !== undefined) return body;
    const error =
      "error" in body ? body.error : new PalaceError("PROTOCOL_BAD_FRAME", "the request has no message", HINT);
    response.setHeader("connection", "close");
    return void sendJson(response, "status" in body ? body.status : 400, { error: error.message });
  }

  /** Sends server-sent events until the reader leaves. A `change` event contains the parts of `palace.status` that the page shows. */
  async #tellNews(response: ServerResponse, { tokenId = "" }: Peer): Promise<void> {
    this.#use();
    response.writeHead(200, { ...SAFE_HEADERS, "content-type": "text/event-stream" });
    response.write(`event: change\ndata: ${this.#news()}\n\n`);
    this.#readers.set(response, tokenId);
    this.#ticker ??= setInterval(() => this.#tick(), NEWS_MS).unref();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    response.once("close", leave).once("finish", leave);
    await left;
    this.#readers.delete(response);
    this.#use();
    if (this.#readers.size > 0) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  #tick(): void {
    const news = this.#news();
    this.#ticks += 1;
    const isNew = news !== this.#last;
    this.#last = news;
    for (const [reader, session] of this.#readers) if (!this.#sessions.isValid(session)) reader.end();
    if (!isNew && this.#ticks % STILL_HERE_TICKS !== 0) return;
    for (const reader of this.#readers.keys()) {
      if (reader.writableLength > UNREAD_NEWS_MAX) reader.destroy();
      else reader.write(isNew ? `event: change\ndata: ${news}\n\n` : ":\n\n");
    }
  }

  #news(): string {
    const { state, drawers, wings, ledgerSizeBytes, peers, queue, search, driver } = this.#options.status();
    return JSON.stringify({ state, drawers, wings, ledgerSizeBytes, peers, queue, search, driver });
  }
}

function sendJson(response: ServerResponse, code: number, value: unknown): void {
  const body = JSON.stringify(value);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  response.writeHead(code, { ...SAFE_HEADERS, ...headers }).end(body);
}

/** Folder of the built page. Its path relative to this file is the same in src and in dist. */
const FOLDER = fileURLToPath(new URL("../../../dist/ui", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The browser may run, load and call only what this door serves. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join("; ");

const SAFE_HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** Returns a route for each file. Errors: STORE_UNAVAILABLE if the page is not built. */
function fileRoutes(): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const name of namesIn(FOLDER)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(join(FOLDER, name));
    // Closes the connection: everybody on this machine may load the files, and must not use up the owner's connections.
    const headers = { ...SAFE_HEADERS, "content-type": type, "content-length": body.length, connection: "close" };
    routes.set(name === "index.html" ? "/ui/" : `/ui/${name}`, (request, response) => {
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (!isRead) response.writeHead(405, { ...SAFE_HEADERS, allow: "GET, HEAD", "content-length": 0 }).end();
      else response.writeHead(200, headers).end(request.method === "GET" ? body : undefined);
    });
  }
  routes.set(
    "/ui",
    (_request, response) =>
      void response.writeHead(308, { ...SAFE_HEADERS, location: "/ui/", "content-length": 0 }).end(),
  );
  return routes;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (error) {
    const hint = "in a clone: npm run build";
    throw unavailable(`the page is not built: there is no ${folder}`, hint, error);
  }
}
