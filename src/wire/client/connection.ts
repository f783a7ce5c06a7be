/**
 * Connection to a broker, with four states:
 *
 *     disconnected ──connect──▶ connecting ──prepared──▶ connected
 *          ▲                        │                        │
 *          └────── no broker ───────┴───── stream ended ─────┘        close: from any state to `closed`
 *
 * It handles streams and messages; its owner (link.ts) decides about calls. It ends a stream that is silent or sends unreadable lines.
 * `connect` may be called at any time: callers share one attempt.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { parseAs } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";
import type { RequestId, RpcResponse } from "../../protocol/spec.ts";
import { decodeFrame, FrameSplitter, isId } from "../transport/frame.ts";
import type { Stream } from "./discover.ts";
import { KeepAlive } from "./keep-alive.ts";
import { RETRY_MAX_MS, RETRY_MS } from "./timeouts.ts";

type State =
  | { name: "disconnected" }
  /** `socket`: a stream that is being prepared. */
  | { name: "connecting"; attempt: Promise<void>; socket?: Socket }
  | { name: "connected"; socket: Socket; sinceMs: number }
  | { name: "closed" };

/** The owner's part of a connection: how to reach a broker, and what to do with messages. */
export type ConnectionOwner = {
  /**
   * Connects to a broker. Returns undefined if the connection should try again. Errors: PalaceError and system errors, which end the
   * attempt.
   */
  dial: () => Promise<Stream | undefined>;
  /** Prepares a new stream before the connection is `connected`. */
  prepare: () => Promise<void>;
  onConnected: () => void;
  /** Called after each dial of an attempt, successful or not. */
  onDialled: () => void;
  /** Called when an attempt has ended without a connection. */
  onUnreachable: (error: PalaceError) => Promise<void>;
  /** `connectedMs`: how long the connection was `connected`. */
  onLost: (connectedMs: number) => void;
  onMessage: (message: RpcResponse, bytes: Buffer) => void;
  /** Called when a message is too long to read. `id`: the call that the message answers. */
  onOversize: (id: RequestId | undefined) => void;
  /** True while the owner waits for an answer. Only then the connection ends a silent stream. */
  isAwaiting: () => boolean;
};

/** Connection of one owner. It can send messages only while it has a stream. */
export class Connection {
  readonly #owner: ConnectionOwner;
  readonly #clock: Clock;
  readonly #keepAlive: KeepAlive;
  #state: State = { name: "disconnected" };

  constructor(owner: ConnectionOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#keepAlive = new KeepAlive(clock);
  }

  get state(): State["name"] {
    return this.#state.name;
  }

  /** True if there is a stream, connected or being prepared. */
  get hasStream(): boolean {
    return this.#socket !== undefined;
  }

  get #socket(): Socket | undefined {
    return "socket" in this.#state ? this.#state.socket : undefined;
  }

  /** Dials until a broker answers. Errors: PalaceError, after the owner got `onUnreachable`; any other error is our bug. */
  connect(): Promise<void> {
    if (this.#state.name === "connecting") return this.#state.attempt;
    if (this.#state.name !== "disconnected") return Promise.resolve();
    const attempt = this.#attempt();
    this.#state = { name: "connecting", attempt };
    return attempt;
  }

  /** Sends one message or several, without the last LF. Returns false if no stream is open. */
  write(text: string): boolean {
    const socket = this.#socket;
    if (socket === undefined) return false;
    socket.write(`${text}\n`);
    this.#keepAlive.watch(socket, this.#owner.isAwaiting);
    return true;
  }

  close(): void {
    const socket = this.#socket;
    this.#state = { name: "closed" };
    this.#keepAlive.stop();
    socket?.destroy();
  }

  async #attempt(): Promise<void> {
    try {
      for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
        const stream = await this.#owner.dial();
        if (stream !== undefined) await this.#use(stream);
        else await new Promise<void>((resolve) => this.#clock.after(pauseMs, resolve));
        this.#owner.onDialled();
        if (this.#state.name !== "connecting") return;
      }
    } catch (error) {
      this.#socket?.destroy();
      if (this.#state.name === "connecting") this.#state = { name: "disconnected" };
      const known = asUnreachable(error);
      await this.#owner.onUnreachable(known);
      throw known;
    }
  }

  async #use({ socket, rest }: Stream): Promise<void> {
    if (this.#state.name !== "connecting") return void socket.destroy();
    this.#state = { ...this.#state, socket };
    const splitter = new FrameSplitter();
    const onData = (chunk: Buffer): void => {
      this.#keepAlive.heard();
      for (const frame of splitter.push(chunk)) {
        if ("bytes" in frame) this.#onFrame(socket, frame.bytes);
        else this.#owner.onOversize(idInHead(frame.head));
      }
    };
    socket.on("data", onData);
    socket.on("error", () => {});
    socket.on("close", () => this.#onEnd(socket));
    if (rest.length > 0) onData(rest);
    socket.resume();
    await this.#owner.prepare();
    if (this.#socket !== socket) return;
    this.#state = { name: "connected", socket, sinceMs: this.#clock.now() };
    this.#owner.onConnected();
  }

  #onFrame(socket: Socket, bytes: Buffer): void {
    const message = toMessage(bytes);
    // The other side is not a broker, or its stream is damaged: a new connection may help.
    if (message === undefined) return void socket.destroy();
    if (!this.#keepAlive.isPong(message.id ?? undefined)) this.#owner.onMessage(message, bytes);
  }

  #onEnd(socket: Socket): void {
    const state = this.#state;
    if (this.#socket !== socket) return;
    this.#keepAlive.stop();
    if (state.name === "connecting") this.#state = { name: "connecting", attempt: state.attempt };
    else this.#state = { name: "disconnected" };
    this.#owner.onLost(state.name === "connected" ? this.#clock.now() - state.sinceMs : 0);
  }
}

/** Returns why no broker is reached. Errors: `error` itself if it is a bug, that is, not our PalaceError and not a system error. */
function asUnreachable(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  if (!(error instanceof Error) || !("syscall" in error)) throw error;
  return new PalaceError("TRANSPORT_REFUSED", "the broker cannot be reached", "run `palace doctor`", { cause: error });
}

/** Parses a broker's message; undefined if the bytes are not one. */
function toMessage(bytes: Buffer): RpcResponse | undefined {
  const decoded = decodeFrame(bytes);
  if (!decoded.ok || typeof decoded.message !== "object" || decoded.message === null) return undefined;
  const { error } = decoded.message as { error?: unknown };
  const isWell = error === undefined || (typeof error === "object" && error !== null);
  return isWell ? (decoded.message as RpcResponse) : undefined;
}

/** Returns the id of the call that a message answers. Reads only the first bytes; undefined if they do not contain the id. */
function idInHead(head: Buffer): RequestId | undefined {
  const id = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),/.exec(head.toString("utf8"))?.[1];
  return parseAs(id ?? "", isId);
}
