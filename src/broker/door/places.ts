/** Limits the connections of one door: each peer has a share, and connections without a proof of identity have little time. */
import type { Socket } from "node:net";
import type { Log, LogFields } from "../../base/log.ts";
import { PEER_CONNECTIONS_MAX, PEERS_KEPT, PEERS_MAX, UNPROVEN_MAX } from "../../protocol/limits.ts";
import { REFUSED_HEADER } from "../../protocol/headers.ts";
import type { Refusal } from "./guard.ts";

/** Peer whose connections are counted by `key`. `name` is for messages. `isOwner`: true for the palace owner's own command line. */
export type Claimant = { key: string; name: string; isOwner: boolean };

/** Time in which a connection must prove its identity, ms. The shorter time applies while more than `MANY` connections are unproven. */
const PROVEN_WITHIN_MS = 10_000;
const PROVEN_WITHIN_MANY_MS = 2_000;
const MANY = UNPROVEN_MAX / 4;
const LOOK_MS = 500;
/** Minimum time between two lines in the log, ms. */
const TOLD_EVERY_MS = 10_000;

export class Places {
  readonly #log: Log;
  /** Connections without proof, by the time of their arrival, oldest first. */
  readonly #unproven = new Map<Socket, number>();
  #look: NodeJS.Timeout | undefined;
  readonly #admitted = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #dropped = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(log: Log) {
    this.#log = log;
  }

  arrive(socket: Socket): void {
    this.#unproven.set(socket, performance.now());
    socket.once("close", () => this.#leave(socket));
    const [oldest] = this.#unproven.keys();
    if (this.#unproven.size > UNPROVEN_MAX && oldest !== undefined) this.#drop(oldest);
    this.#lookLater();
  }

  /** Counts the connection against its peer's share, once. Refuses it if this peer or all peers together have too many. */
  admit(socket: Socket, { key, name, isOwner }: Claimant): Refusal | undefined {
    if (this.#admitted.has(socket)) return undefined;
    const own = this.#counts.get(key) ?? 0;
    if (own >= PEER_CONNECTIONS_MAX)
      return this.#full(`too many connections of ${name}: ${own} is the maximum for one peer`);
    const places = isOwner ? PEERS_MAX : PEERS_MAX - PEERS_KEPT;
    if (this.#admitted.size >= places)
      return this.#full(`too many connections of ${this.#counts.size} peers: ${places} is the maximum for all peers`);
    this.#unproven.delete(socket);
    this.#admitted.set(socket, key);
    this.#counts.set(key, own + 1);
    return undefined;
  }

  #lookLater(): void {
    // If the loop was blocked, proofs may have arrived meanwhile. setImmediate lets the loop read them before old connections are dropped.
    this.#look ??= setTimeout(() => setImmediate(() => this.#dropOld()), LOOK_MS).unref();
  }

  #dropOld(): void {
    this.#look = undefined;
    for (const [socket, sinceMs] of this.#unproven) {
      const withinMs = this.#unproven.size > MANY ? PROVEN_WITHIN_MANY_MS : PROVEN_WITHIN_MS;
      if (performance.now() - sinceMs < withinMs) break;
      this.#drop(socket);
    }
    if (this.#unproven.size > 0) this.#lookLater();
  }

  #drop(socket: Socket): void {
    this.#unproven.delete(socket);
    socket.destroy();
    this.#dropped += 1;
    this.#tell("connections that proved nothing were dropped", { dropped: this.#dropped });
  }

  #full(why: string): Refusal {
    this.#tell("connection refused", { why });
    return { ok: false, status: 429, why, headers: { [REFUSED_HEADER]: why, "retry-after": "1" } };
  }

  #tell(message: string, fields: LogFields): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    this.#log.warn(message, fields);
  }

  #leave(socket: Socket): void {
    this.#unproven.delete(socket);
    const key = this.#admitted.get(socket);
    if (key === undefined) return;
    this.#admitted.delete(socket);
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}
