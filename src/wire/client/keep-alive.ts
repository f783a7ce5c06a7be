/** Ends a connection on which nothing arrives, because a lost network does not end it. First sends a ping: the broker may only be busy. */
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../base/clock.ts";
import type { RequestId } from "../../protocol/spec.ts";

const LOOK_MS = 500;
/** Time without an arriving byte before the ping. A busy machine may need that long to answer. */
const PING_AFTER_MS = 1_500;
const SILENCE_MAX_MS = 4_500;
const PING_ID = "palace/ping";

/** Watches one socket at a time, and destroys the socket if it is silent. */
export class KeepAlive {
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #heardAt = 0;
  #pinged = false;
  #sent = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Watches the socket until no answer is awaited. Call this with every request. */
  watch(socket: Socket, isAwaiting: () => boolean): void {
    if (this.#timer !== undefined) return;
    this.heard();
    const look = (): void => {
      this.#timer = this.#clock.after(LOOK_MS, look);
      if (!isAwaiting() || socket.destroyed) return this.stop();
      // Sent bytes also prove that the connection is alive, for example while a long message is being sent slowly.
      const sent = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength > 0 && sent !== this.#sent) this.heard();
      this.#sent = sent;
      const silentMs = this.#clock.now() - this.#heardAt;
      if (silentMs > SILENCE_MAX_MS) socket.destroy();
      else if (silentMs > PING_AFTER_MS && !this.#pinged) {
        this.#pinged = true;
        socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: PING_ID, method: "ping" })}\n`);
      }
    };
    this.#timer = this.#clock.after(LOOK_MS, look);
  }

  /** Call this when bytes arrive. */
  heard(): void {
    this.#heardAt = this.#clock.now();
    this.#pinged = false;
  }

  isPong(id: RequestId | undefined): boolean {
    return id === PING_ID;
  }

  stop(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }
}
