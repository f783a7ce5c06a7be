/** Keeps the one-time links to the page, and the page's sessions. A link becomes a session. Tokens are kept in memory, as hashes. */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Role } from "../../protocol/spec.ts";
import { type Admission, hostName, refusal } from "../door/guard.ts";
import { isLoopback } from "../door/listen.ts";

/** Time for which a link is valid, ms. */
export const LINK_MAX_MS = 60_000;
/** Maximum number of links of one role, and of sessions of one role. Beyond it, the oldest is dropped. */
const KEPT_MAX = 100;
const SESSION_PATHS = ["/ui/rpc", "/ui/events"];

/** `tokenId`: id of the token whose client asked for the link. The session ends when that token is revoked or expires. */
type Session = { id: string; role: Role; tokenId: string | undefined };

export class Sessions {
  readonly #now: () => number;
  readonly #isValidToken: (id: string) => boolean;
  readonly #links = new Map<string, Omit<Session, "id"> & { expiresAtMs: number }>();
  readonly #sessions = new Map<string, Session>();

  constructor(now: () => number = Date.now, isValidToken: (id: string) => boolean = () => true) {
    this.#now = now;
    this.#isValidToken = isValidToken;
  }

  /** Makes a link's token, which `exchange` accepts once. */
  addLink(role: Role, tokenId?: string): { token: string; expiresAtMs: number } {
    const token = randomBytes(32).toString("base64url");
    const expiresAtMs = this.#now() + LINK_MAX_MS;
    keep(this.#links, hash(token), { role, tokenId, expiresAtMs });
    return { token, expiresAtMs };
  }

  /** Turns a link's token into a session. Returns undefined if the token is unknown, used or too old. */
  exchange(token: string): { bearer: string; role: Role } | undefined {
    const link = this.#links.get(hash(token));
    this.#links.delete(hash(token));
    if (link === undefined || link.expiresAtMs < this.#now()) return undefined;
    const { role, tokenId } = link;
    const bearer = randomBytes(32).toString("base64url");
    keep(this.#sessions, hash(bearer), { id: randomBytes(6).toString("hex"), role, tokenId });
    return { bearer, role };
  }

  clear(): void {
    this.#links.clear();
    this.#sessions.clear();
  }

  /** Admits everybody to the page's files, which contain no memories. Calls and events need a session. */
  admit({ headers }: IncomingMessage, path: string): Admission {
    const { host, origin, authorization } = headers;
    // Another site's host name may resolve to this address (DNS rebinding).
    if (!isLoopback(hostName(host) ?? "")) return refusal(421, "the page is at 127.0.0.1 only");
    if (origin !== undefined && origin !== `http://${host ?? ""}`)
      return refusal(403, "pages of another origin may not call a palace");
    if (!path.startsWith("/ui")) return refusal(404, "the page is at /ui/");
    if (!SESSION_PATHS.includes(path))
      return { ok: true, token: { id: "files", name: "ui", role: "reader" }, headers: {} };
    const bearer = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1];
    const session = bearer === undefined ? undefined : this.#sessions.get(hash(bearer));
    if (session === undefined || !this.#isOpen(session)) return refusal(401, "the session is over: type palace ui");
    return { ok: true, token: { ...session, name: "ui" }, headers: {} };
  }

  /** Returns a fixed text: a door requires a nonce, but the page does not use token proofs. */
  challenge(): string {
    return "none";
  }

  isValid(id: string): boolean {
    return this.#sessions.values().some((session) => session.id === id && this.#isOpen(session));
  }

  #isOpen({ tokenId }: Session): boolean {
    return tokenId === undefined || this.#isValidToken(tokenId);
  }
}

function keep<T extends { role: Role }>(map: Map<string, T>, key: string, value: T): void {
  const alike = [...map].filter(([, { role }]) => role === value.role);
  const [oldest] = alike;
  if (alike.length >= KEPT_MAX && oldest !== undefined) map.delete(oldest[0]);
  map.set(key, value);
}

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
