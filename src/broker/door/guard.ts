/** Decides from a request's headers and connection which TCP clients are admitted, and limits the failures of a client. */
import type { IncomingMessage } from "node:http";
import { isIP, type Socket } from "node:net";
import {
  isProof,
  isToken,
  makeNonce,
  parseProofHeader,
  PROOF_HEADER,
  serverProof,
  tokenId,
} from "../../protocol/proof.ts";
import { isLoopback, type TcpAddress } from "./listen.ts";
import { socketOwner } from "./socket-owner.ts";
import type { TokenBook, TokenRecord } from "./tokens.ts";

export type Refusal = { ok: false; status: number; why: string; headers: Record<string, string> };
/** Sender of a request. `id`: id of the token or of the page's session, `owner`, or `files` for a reader of the page's files. */
export type Guest = Pick<TokenRecord, "id" | "name" | "role">;
export type Admission = Refusal | { ok: true; token: Guest; headers: Record<string, string> };

/** A program of the broker's own user on this machine, without a token. */
const OWNER: Guest = { id: "owner", name: "local", role: "agent" };

/** Loopback address and paths where the owner's own programs need no token. */
export type OwnDoor = TcpAddress & { paths: string };

/** Number of failures in one window after which a client gets only status 429, without a reason. */
const FAILURES_MAX = 10;
const WINDOW_MS = 60_000;
/** Maximum number of pairs of address and token to remember; a further pair drops the oldest one. */
const KEYS_MAX = 10_000;

/** Names under which containers and this machine reach the door. An IP address is always accepted, because DNS rebinding needs a name. */
const HOST_NAMES = /^(?:localhost|(?:host|gateway)\.docker\.internal|host\.containers\.internal)$/i;

export class Guard {
  readonly #tokens: TokenBook;
  readonly #isOurs: (host: string) => boolean;
  readonly #now: () => number;
  /** Nonce of each connection, for one proof. */
  readonly #nonces = new WeakMap<Socket, string>();
  readonly #failures = new Map<string, { count: number; sinceMs: number }>();
  readonly #own: OwnDoor | undefined;
  readonly #owners = new WeakMap<Socket, number | undefined>();

  /** `hosts`: further accepted names. `loopback`: accepts only names of this machine's loopback. */
  constructor(
    tokens: TokenBook,
    hosts: readonly string[] | "loopback",
    { now = Date.now, own }: { now?: () => number; own?: OwnDoor | undefined } = {},
  ) {
    this.#tokens = tokens;
    this.#isOurs = hosts === "loopback" ? isLoopback : oneOf(hosts);
    this.#now = now;
    this.#own = own;
  }

  /** Returns a nonce for the connection's next proof. The answer does not depend on whether the token exists. */
  challenge(request: IncomingMessage): string {
    const nonce = makeNonce();
    this.#nonces.set(request.socket, nonce);
    return nonce;
  }

  admit(request: IncomingMessage, path: string): Admission {
    const header = request.headers.authorization ?? "";
    const bearer = /^Bearer +(\S+)$/i.exec(header)?.[1];
    const proof = parseProofHeader(header);
    const id = (bearer === undefined ? proof?.id : tokenId(bearer)) ?? "";
    const form = this.#checkForm(request);
    const admission =
      form ??
      (header === "" ? this.#admitOwner(request, path) : undefined) ??
      (bearer === undefined ? this.#admitProof(request, path, proof) : this.#admitBearer(id, bearer));
    // Accepts a valid token before it counts failures: other clients' failures, even with the same token id, must not lock the token out.
    if (admission?.ok === true) return admission;
    // Failures count by address and token, because containers share an address.
    const key = `${request.socket.remoteAddress ?? ""} ${id}`;
    const failures = this.#failuresOf(key);
    if (failures !== undefined && failures.count >= FAILURES_MAX) {
      const waitS = Math.ceil((failures.sinceMs + WINDOW_MS - this.#now()) / 1000);
      return refusal(429, "too many failures", { "retry-after": String(waitS) });
    }
    const why = header === "" ? "a token is needed" : "that token is wrong, revoked or expired";
    return this.#fail(key, form ?? refusal(401, why, WANTED));
  }

  /** Guards against web pages: refuses an unknown host name (DNS rebinding) and a foreign origin. */
  #checkForm({ headers }: IncomingMessage): Refusal | undefined {
    const host = hostName(headers.host);
    if (host === undefined || !this.#isOurs(host)) return refusal(421, "this broker does not accept that host name");
    const { origin } = headers;
    if (origin !== undefined && hostName(/^https?:\/\/(.+)$/.exec(origin)?.[1]) !== host)
      return refusal(403, "pages of another origin may not call a palace");
    return undefined;
  }

  /** Returns false once the token is revoked or expired; otherwise records its use. */
  isValid(id: string): boolean {
    const isKnown = this.#tokens.find(id) !== undefined;
    if (isKnown) this.#tokens.use(id);
    return isKnown;
  }

  /** Admits the owner's own programs. Refuses root unless root is the owner: root's programs may forward other users' connections. */
  #admitOwner({ socket, headers }: IncomingMessage, path: string): Admission | undefined {
    if (this.#own === undefined || !path.startsWith(this.#own.paths)) return undefined;
    // Browsers send this header. A browser of the owner may show other people's pages, so its requests need a token.
    if (headers["sec-fetch-site"] !== undefined) return undefined;
    const { remoteAddress: address = "", remotePort: port = 0 } = socket;
    if (!this.#owners.has(socket)) {
      const server = { address: this.#own.host, port: this.#own.port };
      this.#owners.set(socket, socketOwner({ client: { address, port }, server }));
    }
    const owner = this.#owners.get(socket);
    return owner !== undefined && owner === process.getuid?.() ? { ok: true, token: OWNER, headers: {} } : undefined;
  }

  #admitBearer(id: string, text: string): Admission | undefined {
    const token = this.#tokens.find(id);
    if (token === undefined || !isToken(token, text)) return undefined;
    this.#tokens.use(id);
    return { ok: true, token, headers: {} };
  }

  #admitProof(
    request: IncomingMessage,
    path: string,
    given: ReturnType<typeof parseProofHeader>,
  ): Admission | undefined {
    const nonce = this.#nonces.get(request.socket);
    this.#nonces.delete(request.socket);
    if (given === undefined || nonce === undefined || given.serverNonce !== nonce) return undefined;
    const token = this.#tokens.find(given.id);
    const context = { path, id: given.id, clientNonce: given.clientNonce, serverNonce: nonce };
    if (token === undefined || !isProof(token, context, given.proof)) return undefined;
    this.#tokens.use(token.id);
    return { ok: true, token, headers: { [PROOF_HEADER]: serverProof(token, context) } };
  }

  #failuresOf(key: string): { count: number; sinceMs: number } | undefined {
    const failures = this.#failures.get(key);
    if (failures === undefined || this.#now() - failures.sinceMs <= WINDOW_MS) return failures;
    this.#failures.delete(key);
    return undefined;
  }

  #fail(key: string, refused: Refusal): Refusal {
    const failures = this.#failuresOf(key) ?? { count: 0, sinceMs: this.#now() };
    failures.count += 1;
    if (!this.#failures.has(key) && this.#failures.size >= KEYS_MAX)
      this.#failures.delete(this.#failures.keys().next().value as string);
    this.#failures.set(key, failures);
    return refused;
  }
}

function oneOf(hosts: readonly string[]): (host: string) => boolean {
  const named = new Set(hosts.map((host) => host.toLowerCase()));
  return (host) => isIP(host) !== 0 || HOST_NAMES.test(host) || named.has(host.toLowerCase());
}

const WANTED = { "www-authenticate": "Bearer, Palace" };

export function refusal(status: number, why: string, headers: Record<string, string> = {}): Refusal {
  return { ok: false, status, why, headers };
}

/** Returns the `Host` without its port and without the brackets of an IPv6 address; undefined if it is malformed. */
export function hostName(header: string | undefined): string | undefined {
  return /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?$/
    .exec(header ?? "")
    ?.slice(1)
    .find(Boolean);
}
