/** Starts reads peer by peer and few at a time, so that many large reads of one peer neither block the loop nor fill the memory. */
import { setImmediate as immediately } from "node:timers";
import { READS_MAX, READS_PEER_MAX } from "../../protocol/limits.ts";
import { RPC } from "../../protocol/spec.ts";
import { traced } from "../../base/trace.ts";
import type { Peer } from "../peer.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";

type Waiting = { peer: Peer; sinceMs: number; begin: () => void; refuse: (error: Error) => void };
type Ticket = { peerId: number; sinceMs: number };

/** Time after which a running read no longer counts towards the limits, because it then waits for something outside the broker. */
const COUNTED_MS = 5_000;
/** Time after which a peer that reads its answers gets a turn, even if other peers have many unread answers. */
const PATIENCE_MS = 2_000;
/** Time between checks whether a waiting read may begin. */
const LOOK_MS = 10;

export class ReadTurns {
  /** Waiting reads by peer, in the order of their turns. */
  readonly #waiting = new Map<number, Waiting[]>();
  readonly #underWay = new Set<Ticket>();
  #isArmed = false;
  #look: NodeJS.Timeout | undefined;

  /** Resolves when the read may begin; call the returned function when the answer is ready. Errors: RpcFailure if the peer has left. */
  async begin(peer: Peer): Promise<() => void> {
    if (this.#isArmed || this.#waiting.size > 0 || !this.#mayBegin(peer, performance.now())) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const lane = this.#waiting.get(peer.id) ?? [];
      lane.push({ peer, sinceMs: performance.now(), begin: resolve, refuse: reject });
      this.#waiting.set(peer.id, lane);
      this.#arm();
      await traced("palace.read.queue", () => promise);
    }
    const ticket: Ticket = { peerId: peer.id, sinceMs: performance.now() };
    this.#underWay.add(ticket);
    this.#arm();
    return () => {
      this.#underWay.delete(ticket);
      this.#arm();
    };
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    immediately(() => this.#turn());
  }

  #turn(): void {
    this.#isArmed = false;
    clearTimeout(this.#look);
    for (const [peerId, lane] of this.#waiting) {
      const [first] = lane;
      if (first?.peer.reading?.() === "gone") {
        this.#waiting.delete(peerId);
        for (const { refuse } of lane) refuse(new RpcFailure({ code: RPC.SERVER_ERROR, message: "the peer has left" }));
        continue;
      }
      if (first === undefined || !this.#mayBegin(first.peer, first.sinceMs)) continue;
      lane.shift();
      this.#waiting.delete(peerId);
      if (lane.length > 0) this.#waiting.set(peerId, lane);
      first.begin();
      return;
    }
    if (this.#waiting.size > 0) this.#look = setTimeout(() => this.#arm(), LOOK_MS);
  }

  #mayBegin(peer: Peer, sinceMs: number): boolean {
    const nowMs = performance.now();
    let own = 0;
    for (const ticket of this.#underWay) {
      if (nowMs - ticket.sinceMs > COUNTED_MS) this.#underWay.delete(ticket);
      else if (ticket.peerId === peer.id) own += 1;
    }
    if (own >= READS_PEER_MAX || this.#underWay.size >= READS_MAX) return false;
    const state = peer.reading?.() ?? "goes on";
    return state === "goes on" || (state === "others wait" && nowMs - sinceMs > PATIENCE_MS);
  }
}
