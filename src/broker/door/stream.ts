/** Serves JSON-RPC on one upgraded connection, one message a line. A peer that does not read its answers is paused, then disconnected. */
import type { Socket } from "node:net";
import type { Log } from "../../base/log.ts";
import { PalaceError } from "../../base/errors.ts";
import { tooLarge } from "../../protocol/oversize.ts";
import {
  FRAME_SIZE_MAX_BYTES,
  PEER_IN_FLIGHT_MAX,
  PEER_IN_FLIGHT_MAX_BYTES,
  PEER_STALL_MAX_MS,
  PEER_UNREAD_FEW_BYTES,
  PEER_UNREAD_MAX_BYTES,
} from "../../protocol/limits.ts";
import { type RequestId, RPC, type RpcNotification, type RpcResponse } from "../../protocol/spec.ts";
import { decodeFrame, type Frame, FrameSplitter, idOfUnread } from "../../wire/transport/frame.ts";
import type { Dispatch, Notify } from "../engine.ts";
import { type Peer, peerFields } from "../peer.ts";
import type { Held, Holder } from "./held.ts";
import type { Starts } from "./starts.ts";

/** Time between two empty lines to a client that has closed its sending side but still waits for answers. */
const PROBE_MS = 1_000;

export type StreamOptions = {
  socket: Socket;
  head: Buffer;
  peer: Peer;
  dispatch: Dispatch;
  held: Held;
  starts: Starts;
  log: Log;
};

export class Stream {
  readonly #options: StreamOptions;
  readonly #holder: Holder;
  readonly #splitter = new FrameSplitter();
  readonly #waiting: Frame[] = [];
  readonly #outgoing: Outgoing;
  #inFlight = 0;
  #inFlightBytes = 0;
  /** Timer that disconnects the peer; set while the peer has too many unread bytes. */
  #stall: NodeJS.Timeout | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Set by `end`; resolves when all answers are written. */
  #quiet: PromiseWithResolvers<void> | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    const { socket, head, peer } = options;
    this.#holder = { about: peerFields(peer), cut: () => socket.destroy() };
    this.#outgoing = new Outgoing(socket, () => this.#onRead());
    peer.reading = () => this.#reading();
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => {});
    socket.on("end", () => this.#finish());
    socket.on("close", () => this.#forget());
    if (head.length > 0) this.#take(head);
  }

  /** Waits for the answers to running requests, then ends the connection. */
  async end(): Promise<void> {
    if (this.#inFlight > 0 || !this.#outgoing.isEmpty) await (this.#quiet = Promise.withResolvers()).promise;
    clearInterval(this.#probe);
    this.#options.socket.end();
  }

  startNext(): boolean {
    this.#startOne();
    this.#pauseOrResume();
    return this.#waiting.length > 0 && !this.#isFull();
  }

  #take(chunk: Buffer): void {
    this.#waiting.push(...this.#splitter.push(chunk));
    this.#options.held.unfinished.set(this.#holder, this.#splitter.pendingBytes, true);
    this.#pump();
  }

  #forget(): void {
    const { held } = this.#options;
    clearTimeout(this.#stall);
    clearInterval(this.#probe);
    this.#waiting.length = 0;
    this.#outgoing.clear();
    held.unfinished.set(this.#holder, 0, true);
    held.unread.set(this.#holder, 0, true);
    this.#quiet?.resolve();
  }

  /** Waits for the answers to a client that has closed its sending side. An empty line, written meanwhile, fails if the client is gone. */
  #finish(): void {
    if (this.#inFlight > 0) {
      this.#outgoing.write("\n");
      this.#probe = setInterval(() => this.#outgoing.write("\n"), PROBE_MS);
    }
    void this.end();
  }

  #pump(): void {
    while (this.#waiting.length > 0 && !this.#isFull() && this.#options.starts.take(this)) this.#startOne();
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    if (this.#waiting.length > 0) this.#options.socket.pause();
    else if (!this.#isFull()) this.#options.socket.resume();
  }

  #startOne(): void {
    if (this.#isFull()) return;
    const frame = this.#waiting.shift();
    if (frame === undefined) return;
    const sizeBytes = "bytes" in frame ? frame.bytes.length : 0;
    this.#inFlight += 1;
    this.#inFlightBytes += sizeBytes;
    void this.#answer(frame).finally(() => {
      this.#inFlight -= 1;
      this.#inFlightBytes -= sizeBytes;
      this.#settle();
      this.#pump();
    });
  }

  #settle(): void {
    if (this.#inFlight === 0 && this.#outgoing.isEmpty) this.#quiet?.resolve();
  }

  #isFull(): boolean {
    if (this.#inFlight >= PEER_IN_FLIGHT_MAX || this.#inFlightBytes > PEER_IN_FLIGHT_MAX_BYTES) return true;
    if (this.#stall !== undefined) return true;
    return this.#outgoing.bytes > PEER_UNREAD_FEW_BYTES && this.#options.held.unread.isOver;
  }

  #reading(): ReturnType<NonNullable<Peer["reading"]>> {
    if (this.#options.socket.destroyed) return "gone";
    if (this.#stall !== undefined) return "behind";
    return this.#options.held.unread.isOver ? "others wait" : "goes on";
  }

  async #answer(frame: Frame): Promise<void> {
    const { peer, dispatch } = this.#options;
    if ("oversize" in frame) {
      const why = `a message may have ${FRAME_SIZE_MAX_BYTES} bytes`;
      const error = new PalaceError("TRANSPORT_FRAME_TOO_LARGE", why, "send less at once");
      this.#refuse(idOfUnread(frame.head, frame.tail), RPC.INVALID_REQUEST, error);
      void this.end();
      return;
    }
    const decoded = decodeFrame(frame.bytes);
    if (!decoded.ok) {
      if (decoded.why === "") return;
      const hint = "send one JSON-RPC message a line";
      const id = idOfUnread(frame.bytes, frame.bytes);
      return this.#refuse(id, RPC.PARSE_ERROR, new PalaceError("PROTOCOL_BAD_FRAME", decoded.why, hint));
    }
    const notify: Notify = (method, params) => this.#notify(method, params);
    const response = await dispatch(peer, decoded.message, frame.bytes.length, notify);
    if (response !== undefined) this.#send(response);
  }

  #refuse(id: RequestId | null, code: number, error: PalaceError): void {
    this.#send({ jsonrpc: "2.0", id, error: { code, message: error.message, data: error.toWire() } });
  }

  /** Sends a notification; drops it if the peer does not read. */
  #notify(method: string, params: Record<string, unknown> | undefined): void {
    if (this.#stall === undefined) this.#send({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  #send(response: RpcResponse | RpcNotification): void {
    const { socket, held } = this.#options;
    if (!socket.writable) return;
    this.#outgoing.write(`${fitting(response)}\n`);
    held.unread.set(this.#holder, this.#outgoing.bytes, false);
    if (this.#outgoing.bytes > PEER_UNREAD_MAX_BYTES) this.#stall ??= setTimeout(() => this.#cut(), PEER_STALL_MAX_MS);
  }

  #onRead(): void {
    this.#options.held.unread.set(this.#holder, this.#outgoing.bytes, true);
    if (this.#outgoing.bytes > PEER_UNREAD_MAX_BYTES) this.#stall?.refresh();
    else {
      clearTimeout(this.#stall);
      this.#stall = undefined;
    }
    this.#settle();
    this.#pump();
  }

  #cut(): void {
    const { socket, peer, log } = this.#options;
    log.warn("peer does not read its answers", peerFields(peer));
    socket.destroy();
  }
}

/** Returns the message as JSON, or an error instead if the message is too long for a client. */
function fitting(message: RpcResponse | RpcNotification): string {
  const json = JSON.stringify(message);
  if (Buffer.byteLength(json) <= FRAME_SIZE_MAX_BYTES || !("id" in message)) return json;
  const error = tooLarge("the answer");
  const wire = { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() };
  return JSON.stringify({ jsonrpc: "2.0", id: message.id, error: wire });
}

const SLICE_BYTES = 256 * 1024;

/** Messages to one peer, written in slices as the peer reads them. Waiting messages are Buffers, outside V8's heap. */
class Outgoing {
  readonly #socket: Socket;
  readonly #onWritten: () => void;
  /** Waiting messages; the first may be partly written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;

  constructor(socket: Socket, onRead: () => void) {
    this.#socket = socket;
    this.#onWritten = () => {
      this.#flush();
      onRead();
    };
  }

  /** Number of bytes that the peer has not read. Bytes in the kernel's buffer count as read. */
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
