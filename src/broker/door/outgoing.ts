/** Messages to one peer, written in slices as the peer reads them. Waiting messages are Buffers, outside V8's heap. */
import type { Socket } from "node:net";

const SLICE_BYTES = 256 * 1024;

export class Outgoing {
  readonly #socket: Socket;
  readonly #onWritten: () => void;
  /** Waiting messages; the first may be partly written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;

  /** `onRead` is called whenever the peer has taken a slice. */
  constructor(socket: Socket, onRead: () => void) {
    this.#socket = socket;
    this.#onWritten = () => {
      this.#flush();
      onRead();
    };
  }

  /** Number of bytes that the peer has not read, without the bytes in the kernel's buffer. */
  get bytes(): number {
    return this.#waitingBytes + this.#socket.writableLength;
  }

  /** True if all messages were passed to the socket. */
  get isEmpty(): boolean {
    return this.#waitingBytes === 0;
  }

  write(message: string): void {
    const bytes = Buffer.from(message);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#flush();
  }

  clear(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #flush(): void {
    for (let [first] = this.#waiting; first !== undefined && !this.#socket.writableNeedDrain; [first] = this.#waiting) {
      const slice = first.subarray(0, SLICE_BYTES);
      if (slice.length === first.length) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(SLICE_BYTES);
      this.#waitingBytes -= slice.length;
      this.#socket.write(slice, this.#onWritten);
    }
  }
}
