/** Lets calls wait for an event of the coordination log. While calls wait, the broker polls for commits of other processes. */
import { PalaceError } from "../../base/errors.ts";
import { shuttingDown } from "../engine.ts";
import { EVENT_WAITS_MAX, EVENT_WAITS_PEER_MAX } from "../../protocol/limits.ts";

/** Time between polls for other processes' commits. */
const LOOK_MS = 250;

export type Wait = Disposable & {
  /** Returns the number of commits so far. Call it before you look for events: a later commit counts as a change. */
  mark(): number;
  /** Resolves to true if something was committed since `mark`, to false if the time is over. Errors: why the wait ended. */
  change(mark: number): Promise<boolean>;
};

type Waiter = { peerId: number; ended: Error | undefined; wake: () => void };

export class EventWaits {
  readonly #waiters = new Set<Waiter>();
  readonly #version: () => Promise<string>;
  #commits = 0;
  #isOver = false;
  #looking: NodeJS.Timeout | undefined;
  #seen: string | undefined;

  /** `version`: returns the version of the log's file, which changes when another process commits. */
  constructor(version: () => Promise<string>) {
    this.#version = version;
  }

  /** Begins a wait. Errors: BROKER_BUSY, BROKER_SHUTTING_DOWN. */
  begin(peerId: number, timeoutMs: number, signal: AbortSignal): Wait {
    if (this.#isOver) throw shuttingDown();
    const own = [...this.#waiters].filter((waiter) => waiter.peerId === peerId).length;
    if (this.#waiters.size >= EVENT_WAITS_MAX || own >= EVENT_WAITS_PEER_MAX)
      throw new PalaceError("BROKER_BUSY", "too many calls wait for events", "end one of them first", {
        retryAfterMs: 1_000,
      });
    const waiter: Waiter = { peerId, ended: undefined, wake: () => {} };
    this.#waiters.add(waiter);
    this.#look();
    const onAbort = (): void => end(waiter, signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    const deadline = performance.now() + timeoutMs;
    let isLast = false;
    return {
      mark: () => this.#commits,
      change: async (mark) => {
        const leftMs = deadline - performance.now();
        if (this.#commits === mark && waiter.ended === undefined && leftMs > 0)
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, leftMs);
            waiter.wake = () => (clearTimeout(timer), resolve());
          });
        if (waiter.ended !== undefined) throw waiter.ended;
        if (isLast) return false;
        // The first call after the deadline may return true, so that the caller does not miss a commit. The next call returns false.
        isLast = performance.now() >= deadline;
        return this.#commits !== mark;
      },
      [Symbol.dispose]: () => {
        signal.removeEventListener("abort", onAbort);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#rest();
      },
    };
  }

  wake(): void {
    this.#commits += 1;
    for (const waiter of this.#waiters) waiter.wake();
  }

  leave(peerId: number): void {
    const left = new PalaceError("BROKER_CANCELLED", "the client left before there was an event", "");
    for (const waiter of this.#waiters) if (waiter.peerId === peerId) end(waiter, left);
  }

  end(): void {
    this.#isOver = true;
    for (const waiter of this.#waiters) end(waiter, shuttingDown());
  }

  #look(): void {
    if (this.#looking !== undefined) return;
    let isLooking = false;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      // Ignores an unreadable file: the next poll reads it again, and the waiting call reports the error when it looks for events.
      const version = await this.#version().catch(() => undefined);
      isLooking = false;
      if (version === undefined || version === this.#seen) return;
      this.#seen = version;
      this.wake();
    };
    this.#looking = setInterval(() => void look(), LOOK_MS);
  }

  #rest(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
    this.#seen = undefined;
  }
}

function end(waiter: Waiter, why: Error): void {
  waiter.ended ??= why;
  waiter.wake();
}
