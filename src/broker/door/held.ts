/** Limits the bytes that all doors together keep for stalled connections: incomplete requests and unread answers. */
import type { Log, LogFields } from "../../base/log.ts";
import { SLOW_PEER_MS, UNFINISHED_MAX_BYTES, UNREAD_MAX_BYTES } from "../../protocol/limits.ts";

/** A connection. `about`: its fields in the log. `cut` ends the connection and must not call `HeldBytes.set`. */
export type Holder = { about: LogFields; cut: () => void };

/** Time between checks of the connections while the limit is exceeded, ms. */
const LOOK_MS = 100;

export class HeldBytes {
  readonly #maxBytes: number;
  readonly #patienceMs: number;
  readonly #onCut: (about: LogFields) => void;
  /** Holders, sorted by their waits, the longest first. */
  readonly #held = new Map<Holder, { bytes: number; sinceMs: number }>();
  #totalBytes = 0;
  #look: NodeJS.Timeout | undefined;

  /** A holder that made progress within `patienceMs` is not cut. */
  constructor(maxBytes: number, patienceMs: number, onCut: (about: LogFields) => void) {
    this.#maxBytes = maxBytes;
    this.#patienceMs = patienceMs;
    this.#onCut = onCut;
  }

  get isOver(): boolean {
    return this.#totalBytes > this.#maxBytes;
  }

  /** Records a holder's bytes. `wentOn`: the holder has just sent or read something, so its wait begins again. */
  set(holder: Holder, bytes: number, wentOn: boolean): void {
    const before = this.#held.get(holder);
    this.#totalBytes += bytes - (before?.bytes ?? 0);
    if (wentOn || bytes === 0) this.#held.delete(holder);
    const sinceMs = wentOn || before === undefined ? performance.now() : before.sinceMs;
    if (bytes > 0) this.#held.set(holder, { bytes, sinceMs });
    if (this.isOver) this.#makeRoom(holder);
  }

  /** Cuts the connections that waited longest, until the limit is met. Never cuts `newest`, whose bytes have just changed. */
  #makeRoom(newest?: Holder): void {
    const nowMs = performance.now();
    for (const [holder, { bytes, sinceMs }] of this.#held) {
      const waitedMs = Math.round(nowMs - sinceMs);
      if (!this.isOver || waitedMs < this.#patienceMs) break;
      if (holder === newest) continue;
      this.#held.delete(holder);
      this.#totalBytes -= bytes;
      this.#onCut({ ...holder.about, bytes, waitedMs });
      holder.cut();
    }
    if (this.isOver) this.#look ??= setTimeout(() => this.#lookAgain(), LOOK_MS).unref();
  }

  #lookAgain(): void {
    this.#look = undefined;
    this.#makeRoom();
  }
}

export class Held {
  readonly unfinished: HeldBytes;
  readonly unread: HeldBytes;

  constructor(log: Log) {
    this.unfinished = new HeldBytes(UNFINISHED_MAX_BYTES, 0, (about) =>
      log.warn("too many unfinished requests: the one that waited longest was cut", about),
    );
    this.unread = new HeldBytes(UNREAD_MAX_BYTES, SLOW_PEER_MS, (about) =>
      log.warn("too many unread answers: the peer that has not read for longest was cut", about),
    );
  }
}
