/**
 * Connection to a broker. It handles streams and messages; its owner (link.ts) decides about calls. It has four states:
 *
 *     disconnected ──connect──▶ connecting ──prepared──▶ connected
 *          ▲                        │                        │
 *          └────── no broker ───────┴───── stream ended ─────┘        close: from any state to `closed`
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
  | { name: "connecting"; attempt: Promise<void>; socket?: Socket }
  | { name: "connected"; socket: Socket; sinceMs: number }
  | { name: "closed" };

/** Functions with which the owner reaches a broker and handles messages. */
export type ConnectionOwner = {
  /** Connects to a broker. If it returns undefined, it is called again after a pause. Errors: PalaceError and system errors. */
  dial: () => Promise<Stream | undefined>;
  /** Called before a new stream counts as `connected`. */
  prepare: () => Promise<void>;
  onConnected: () => void;
  /** Called after each `dial` that did not throw, with or without a stream. */
  onDialled: () => void;
  /** Called when an attempt has ended without a connection. */
  onUnreachable: (error: PalaceError) => Promise<void>;
  /** Called when a stream has ended. `connectedMs`: how long it was `connected`. */
  onLost: (connectedMs: number) => void;
  onMessage: (message: RpcResponse, bytes: Buffer) => void;
  /** Called for a message that is too long. `id`: the call that the message answers, if known. */
  onOversize: (id: RequestId | undefined) => void;
  /** Returns true while the owner waits for an answer. A silent stream is ended only then. */
  isAwaiting: () => boolean;
};

/** Connection to a broker. After a loss, the owner reconnects it with `connect`. */
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

  /** True if there is a stream, `connected` or in preparation. */
  get hasStream(): boolean {
    return this.#socket !== undefined;
  }

  get #socket(): Socket | undefined {
    return "socket" in this.#state ? this.#state.socket : undefined;
  }

  /** Dials until a broker answers. Concurrent callers share one attempt. Errors: PalaceError, after `onUnreachable`. */
  connect(): Promise<void> {
    if (this.#state.name === "connecting") return this.#state.attempt;
    if (this.#state.name !== "disconnected") return Promise.resolve();
    const attempt = this.#attempt();
    this.#state = { name: "connecting", attempt };
    return attempt;
  }

  /** Sends messages, separated by LF and without a final LF. Returns false without a stream. */
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
    // The server is not a broker, or the stream is damaged. A new connection may help.
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

/** Converts a system error. Errors: `error` itself if it is a bug. */
function asUnreachable(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  if (!(error instanceof Error) || !("syscall" in error)) throw error;
  return new PalaceError("TRANSPORT_REFUSED", "the broker cannot be reached", "run `palace doctor`", { cause: error });
}

function toMessage(bytes: Buffer): RpcResponse | undefined {
  const decoded = decodeFrame(bytes);
  if (!decoded.ok || typeof decoded.message !== "object" || decoded.message === null) return undefined;
  const { error } = decoded.message as { error?: unknown };
  const isWell = error === undefined || (typeof error === "object" && error !== null);
  return isWell ? (decoded.message as RpcResponse) : undefined;
}

/** Returns the id of the call that a message answers, or undefined if the message's first bytes have no id. */
function idInHead(head: Buffer): RequestId | undefined {
  const id = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),/.exec(head.toString("utf8"))?.[1];
  return parseAs(id ?? "", isId);
}
