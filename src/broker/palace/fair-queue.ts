/** Bounded round-robin queue: a peer with a thousand requests does not delay a peer with one request. */
import { PalaceError } from "../../base/errors.ts";

export type QueueBounds = { depth: number; depthPeer: number; sizeBytes: number; what: string };

const RETRY_AFTER_MS = 100;

export class FairQueue<T> {
  readonly #bounds: QueueBounds;
  /** Peers with waiting items, in the order of their turns. */
  readonly #peers = new Map<number, { item: T; sizeBytes: number }[]>();
  #depth = 0;
  #sizeBytes = 0;
  refused = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get depth(): number {
    return this.#depth;
  }

  /** Adds an item. Errors: BROKER_BUSY with a retry hint. */
  push(peerId: number, item: T, sizeBytes: number): void {
    const { depth, depthPeer, sizeBytes: sizeMax, what } = this.#bounds;
    const lane = this.#peers.get(peerId) ?? [];
    if (this.#depth >= depth || lane.length >= depthPeer || this.#sizeBytes + sizeBytes > sizeMax) {
      this.refused += 1;
      throw new PalaceError("BROKER_BUSY", `too many ${what} are waiting`, "repeat the call in a moment", {
        retryAfterMs: RETRY_AFTER_MS,
      });
    }
    lane.push({ item, sizeBytes });
    this.#peers.set(peerId, lane);
    this.#depth += 1;
    this.#sizeBytes += sizeBytes;
  }

  /** Removes and returns the next item; its peer becomes the last in turn. */
  shift(): { item: T; sizeBytes: number } | undefined {
    const [first] = this.#peers;
    if (first === undefined) return undefined;
    const [peerId, lane] = first;
    const next = lane.shift();
    this.#peers.delete(peerId);
    if (lane.length > 0) this.#peers.set(peerId, lane);
    if (next === undefined) return undefined;
    this.#depth -= 1;
    this.#sizeBytes -= next.sizeBytes;
    return next;
  }

  take(isWanted: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const [peerId, lane] of this.#peers) {
      const left = lane.filter(({ item }) => !isWanted(item));
      if (left.length === lane.length) continue;
      for (const { item, sizeBytes } of lane) {
        if (!isWanted(item)) continue;
        taken.push(item);
        this.#depth -= 1;
        this.#sizeBytes -= sizeBytes;
      }
      if (left.length === 0) this.#peers.delete(peerId);
      else this.#peers.set(peerId, left);
    }
    return taken;
  }
}
