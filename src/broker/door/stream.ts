/**
 * One upgraded connection: newline-delimited JSON-RPC of one peer. Requests are answered as they finish. A peer that
 * does not read its answers is not read from, and is disconnected after a while, so that memory stays bounded.
 */
import type { Socket } from "node:net";
import type { Log } from "../../platform/log.ts";
import { PalaceError, tooLarge } from "../../protocol/errors.ts";
import {
  FRAME_SIZE_MAX_BYTES,
  PEER_IN_FLIGHT_MAX_BYTES,
  PEER_IN_FLIGHT_MAX,
  PEER_STALL_MAX_MS,
  PEER_UNREAD_MAX_BYTES,
} from "../../protocol/limits.ts";
import { RPC, type RpcNotification, type RpcResponse } from "../../protocol/spec.ts";
import { decodeFrame, type Frame, FrameSplitter } from "../../transport/frame.ts";
import type { Dispatch, Notify } from "../engine.ts";
import { type Peer, peerFields } from "../peer.ts";

/** Interval at which a silent client with open requests is probed. */
const PROBE_MS = 1_000;

export type StreamOptions = { socket: Socket; head: Buffer; peer: Peer; dispatch: Dispatch; log: Log };

export class Stream {
  readonly #options: StreamOptions;
  readonly #splitter = new FrameSplitter();
  readonly #waiting: Frame[] = [];
  #inFlight = 0;
  #inFlightBytes = 0;
  /** Expires when the peer does not read what is written to it. */
  #stall: NodeJS.Timeout | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Resolves after the last answer. */
  #quiet: PromiseWithResolvers<void> | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    const { socket, head } = options;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("drain", () => {
      clearTimeout(this.#stall);
      this.#stall = undefined;
      this.#pump();
    });
    socket.on("error", () => {});
    socket.on("end", () => this.#finish());
    socket.on("close", () => {
      clearTimeout(this.#stall);
      clearInterval(this.#probe);
      this.#waiting.length = 0;
      this.#quiet?.resolve();
    });
    if (head.length > 0) this.#take(head);
  }

  /** Lets running requests be answered, then ends the connection. */
  async end(): Promise<void> {
    if (this.#inFlight > 0) await (this.#quiet = Promise.withResolvers()).promise;
    clearInterval(this.#probe);
    this.#options.socket.end();
  }

  #take(chunk: Buffer): void {
    this.#waiting.push(...this.#splitter.push(chunk));
    this.#pump();
  }

  /**
   * A client that closed its sending side still gets its answers. A client that vanished looks the same until something
   * is written to it; an empty line carries no message.
   */
  #finish(): void {
    const { socket } = this.#options;
    if (this.#inFlight > 0) {
      socket.write("\n");
      this.#probe = setInterval(() => socket.write("\n"), PROBE_MS);
    }
    void this.end();
  }

  #pump(): void {
    while (this.#waiting.length > 0 && !this.#isFull()) {
      const frame = this.#waiting.shift();
      if (frame === undefined) break;
      const sizeBytes = "bytes" in frame ? frame.bytes.length : 0;
      this.#inFlight += 1;
      this.#inFlightBytes += sizeBytes;
      void this.#answer(frame).finally(() => {
        this.#inFlight -= 1;
        this.#inFlightBytes -= sizeBytes;
        if (this.#inFlight === 0) this.#quiet?.resolve();
        this.#pump();
      });
    }
    if (this.#waiting.length > 0) this.#options.socket.pause();
    else if (!this.#isFull()) this.#options.socket.resume();
  }

  #isFull(): boolean {
    if (this.#inFlight >= PEER_IN_FLIGHT_MAX || this.#inFlightBytes > PEER_IN_FLIGHT_MAX_BYTES) return true;
    return this.#stall !== undefined;
  }

  async #answer(frame: Frame): Promise<void> {
    const { socket, peer, dispatch } = this.#options;
    if ("oversize" in frame) {
      const why = `a message may have ${FRAME_SIZE_MAX_BYTES} bytes`;
      this.#refuse(RPC.INVALID_REQUEST, new PalaceError("TRANSPORT_FRAME_TOO_LARGE", why, "send less at once"));
      socket.end();
      return;
    }
    const decoded = decodeFrame(frame.bytes);
    if (!decoded.ok) {
      if (decoded.why === "") return;
      const hint = "send one JSON-RPC message a line";
      return this.#refuse(RPC.PARSE_ERROR, new PalaceError("PROTOCOL_BAD_FRAME", decoded.why, hint));
    }
    const notify: Notify = (method, params) => this.#notify(method, params);
    const response = await dispatch(peer, decoded.message, frame.bytes.length, notify);
    if (response !== undefined) this.#send(response);
  }

  #refuse(code: number, error: PalaceError): void {
    this.#send({ jsonrpc: "2.0", id: null, error: { code, message: error.message, data: error.toWire() } });
  }

  /** Notifications are dropped for a peer that does not read. */
  #notify(method: string, params: Record<string, unknown> | undefined): void {
    if (this.#stall === undefined) this.#send({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  #send(response: RpcResponse | RpcNotification): void {
    const { socket, peer, log } = this.#options;
    if (!socket.writable) return;
    socket.write(`${fitting(response)}\n`);
    if (socket.writableLength <= PEER_UNREAD_MAX_BYTES || this.#stall !== undefined) return;
    this.#stall = setTimeout(() => {
      log.warn("peer does not read its answers", peerFields(peer));
      socket.destroy();
    }, PEER_STALL_MAX_MS);
  }
}

/** Returns the message as JSON, or the error in its place when no client reads one that long. */
function fitting(message: RpcResponse | RpcNotification): string {
  const json = JSON.stringify(message);
  if (Buffer.byteLength(json) <= FRAME_SIZE_MAX_BYTES || !("id" in message)) return json;
  const error = tooLarge("the answer");
  const wire = { code: RPC.SERVER_ERROR, message: error.message, data: error.toWire() };
  return JSON.stringify({ jsonrpc: "2.0", id: message.id, error: wire });
}
