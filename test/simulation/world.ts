/** Simulated world: one clock, events in seeded order, and connections in memory that lose, delay and cut bytes. */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../src/base/clock.ts";

type Event = { atMs: number; order: number; call: () => void; isOff: boolean };

/** Runs events in order of time. Before the next event, waits for all consequences of the current one. */
export class Scheduler implements Clock {
  readonly random: () => number;
  #nowMs = 0;
  #count = 0;
  readonly #events: Event[] = [];

  constructor(random: () => number) {
    this.random = random;
  }

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, call: () => void): Timer {
    // Events of the same moment run in a random order.
    const event = { atMs: this.#nowMs + Math.max(ms, 0), order: this.random(), call, isOff: false };
    this.#events.push(event);
    return { clear: () => void (event.isOff = true) };
  }

  between(from: number, to: number): number {
    return from + this.random() * (to - from);
  }

  /** Runs events until `isDone`, until none remain, or for `maxMs` of simulated time. Returns true if done. */
  async run(isDone: () => boolean, maxMs: number): Promise<boolean> {
    const end = this.#nowMs + maxMs;
    await settle();
    while (!isDone()) {
      const next = this.#take();
      if (next === undefined || next.atMs > end) return isDone();
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.#count += 1;
      next.call();
      await settle();
    }
    return true;
  }

  get events(): number {
    return this.#count;
  }

  #take(): Event | undefined {
    let best: number | undefined;
    for (let at = 0; at < this.#events.length; at++) {
      const one = this.#events[at];
      const other = best === undefined ? undefined : this.#events[best];
      if (one === undefined || one.isOff) continue;
      if (other === undefined || one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order))
        best = at;
    }
    if (best === undefined) return undefined;
    const [event] = this.#events.splice(best, 1);
    for (let at = this.#events.length - 1; at >= 0; at--) if (this.#events[at]?.isOff) this.#events.splice(at, 1);
    return event;
  }
}

/** Waits until all promises that follow from an event have been handled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One end of a linked pair, with those members of a socket that a client uses. */
export class LinkedSocket extends EventEmitter {
  destroyed = false;
  /** Always 0, because written bytes leave at once. The network may delay or drop them later. */
  readonly writableLength = 0;
  bytesWritten = 0;
  other: LinkedSocket | undefined;
  readonly #scheduler: Scheduler;
  /** Returns true while the network drops packets without an error on either side. */
  readonly #isCut: () => boolean;
  #lastAtMs = 0;
  #paused: Buffer[] | undefined = [];

  constructor(scheduler: Scheduler, isCut: () => boolean) {
    super();
    this.#scheduler = scheduler;
    this.#isCut = isCut;
  }

  write(text: string | Buffer): boolean {
    const to = this.other;
    if (this.destroyed || to === undefined || this.#isCut()) return false;
    // Bytes arrive in order, even if a chunk takes longer than the next.
    const atMs = Math.max(this.#lastAtMs, this.#scheduler.now() + this.#scheduler.between(0.05, 3));
    this.#lastAtMs = atMs;
    const bytes = Buffer.from(text);
    this.bytesWritten += bytes.length;
    this.#scheduler.after(atMs - this.#scheduler.now(), () => {
      if (!to.destroyed && !this.#isCut()) to.deliver(bytes);
    });
    return true;
  }

  deliver(bytes: Buffer): void {
    if (this.#paused !== undefined) this.#paused.push(bytes);
    else this.emit("data", bytes);
  }

  resume(): this {
    const waiting = this.#paused ?? [];
    this.#paused = undefined;
    for (const bytes of waiting) this.emit("data", bytes);
    return this;
  }

  pause(): this {
    this.#paused ??= [];
    return this;
  }

  /** Closes this end at once, and the other end a moment later unless the network is cut. */
  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    const { other } = this;
    this.#scheduler.after(0, () => this.emit("close"));
    if (other !== undefined && !this.#isCut())
      this.#scheduler.after(this.#scheduler.between(0.05, 3), () => other.destroy());
    return this;
  }

  asSocket(): Socket {
    return this as unknown as Socket;
  }
}

export function linkedPair(scheduler: Scheduler, isCut: () => boolean): [client: LinkedSocket, server: LinkedSocket] {
  const [one, two] = [new LinkedSocket(scheduler, isCut), new LinkedSocket(scheduler, isCut)];
  one.other = two;
  two.other = one;
  return [one, two];
}
