/**
 * A lasting line to the broker for whoever speaks JSON-RPC: the shim and the typed client. Requests that got no answer are
 * sent again over a new connection, with their idempotency keys, so a broker that restarts is only a delay.
 * Concurrency: one owner; `send` may be called at any time.
 */
import type { Socket } from "node:net";
import type { Config } from "../config/config.ts";
import { PalaceError, type WireErrorData } from "../protocol/errors.ts";
import { PEER_IN_FLIGHT_MAX } from "../protocol/limits.ts";
import { type RequestId, RPC, type RpcResponse } from "../protocol/spec.ts";
import { decodeFrame, FrameSplitter } from "../transport/frame.ts";
import { openStream, type Stream } from "./discover.ts";

export type LinkOptions = {
  config: Config;
  agent: string;
  start: "auto" | "never";
  /** One message of the broker, without its LF: a response to a request, or a notification. */
  onLine: (line: Buffer | string) => void;
};

type Pending = { line: string; since: number };

/** How often a request is put to a busy broker, or to brokers that keep dying, before its owner hears of it. */
const PATIENCE_MS = 60_000;
/** A broker elsewhere that was there a moment ago: it is being started again, or the way to it is broken. */
const RESTART_PATIENCE_MS = 10_000;
const RETRY_MS = 50;
const RETRY_MAX_MS = 1_000;

export class Link {
  readonly #options: LinkOptions;
  readonly #pending = new Map<RequestId, Pending>();
  /** Notifications of a moment without connection; a few, they are never many. */
  #unsent: string[] = [];
  #socket: Socket | undefined;
  #connecting: Promise<void> | undefined;
  #closed = false;
  #wasConnected = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Sends one message. With an id its answer comes to `onLine`, an error answer of our own making if all fails. */
  send(id: RequestId | undefined, line: string): void {
    if (id !== undefined) this.#pending.set(id, { line, since: Date.now() });
    if (this.#socket !== undefined) this.#socket.write(`${line}\n`);
    else {
      if (id === undefined && this.#unsent.length < PEER_IN_FLIGHT_MAX) this.#unsent.push(line);
      void this.connect().catch(() => {});
    }
  }

  /** Connects, starting a broker if allowed. Errors: those of discovery and start; pending requests are answered with it. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
    this.#pending.clear();
  }

  async #connect(): Promise<void> {
    try {
      for (let wait = RETRY_MS; this.#socket === undefined && !this.#closed; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
        const stream = await this.#dial();
        if (stream !== undefined) this.#adopt(stream);
        else await new Promise((resolve) => setTimeout(resolve, wait));
        this.#expire();
      }
    } catch (error) {
      const known =
        error instanceof PalaceError
          ? error
          : new PalaceError("TRANSPORT_REFUSED", "the broker cannot be reached", "run `palace doctor`", {
              cause: error,
            });
      for (const id of [...this.#pending.keys()]) this.#fail(id, known);
      throw known;
    }
  }

  async #dial(): Promise<Stream | undefined> {
    const { config, agent, start } = this.#options;
    const stream = await openStream(config, agent);
    if (stream !== undefined) return stream;
    if (start === "never") throw new PalaceError("TRANSPORT_REFUSED", "no broker is running", "run `palace start`");
    const { ensureBroker } = await import("./start.ts");
    await ensureBroker(config, { patienceMs: this.#wasConnected ? RESTART_PATIENCE_MS : 0 });
    return openStream(config, agent);
  }

  #adopt({ socket, rest }: Stream): void {
    const splitter = new FrameSplitter();
    const onData = (chunk: Buffer): void => {
      for (const frame of splitter.push(chunk)) if ("bytes" in frame) this.#onFrame(frame.bytes);
    };
    this.#socket = socket;
    this.#wasConnected = true;
    socket.on("data", onData);
    socket.on("error", () => {});
    socket.on("close", () => this.#onClose(socket));
    if (rest.length > 0) onData(rest);
    const lines = [...this.#unsent, ...[...this.#pending.values()].map((pending) => pending.line)];
    this.#unsent = [];
    if (lines.length > 0) socket.write(`${lines.join("\n")}\n`);
    socket.resume();
  }

  #onFrame(bytes: Buffer): void {
    const response = toResponse(bytes);
    // Whoever says that is no broker, or one that has lost its way: the next connection may be better.
    if (response === undefined) return void this.#socket?.destroy();
    const id = response.id ?? undefined;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    // An answer that came already, of a request that was put twice.
    if (id !== undefined && pending === undefined) return;
    if (id !== undefined && pending !== undefined) {
      const data = "error" in response ? (response.error.data as Partial<WireErrorData> | undefined) : undefined;
      // Neither was the call taken: it is put again, to this broker or to the next.
      if (data?.code === "BROKER_SHUTTING_DOWN") return;
      if (data?.code === "BROKER_BUSY" && Date.now() - pending.since < PATIENCE_MS) {
        setTimeout(() => this.#repeat(id), data.retryAfterMs ?? RETRY_MAX_MS);
        return;
      }
      this.#pending.delete(id);
    }
    this.#options.onLine(bytes);
  }

  #repeat(id: RequestId): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#socket?.write(`${pending.line}\n`);
  }

  #onClose(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    // Without open requests the next one connects: a broker that ended for want of work is not woken for nothing.
    if (!this.#closed && this.#pending.size > 0) void this.connect().catch(() => {});
  }

  #expire(): void {
    for (const [id, { since }] of this.#pending) {
      if (Date.now() - since > PATIENCE_MS)
        this.#fail(id, new PalaceError("TRANSPORT_CLOSED", "the broker kept going away", "run `palace logs`"));
    }
  }

  #fail(id: RequestId, error: PalaceError): void {
    this.#pending.delete(id);
    const message = error.hint === "" ? error.message : `${error.message}; ${error.hint}`;
    this.#options.onLine(
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: RPC.SERVER_ERROR, message, data: error.toWire() } }),
    );
  }
}

/** Undefined for what no broker says. */
function toResponse(bytes: Buffer): RpcResponse | undefined {
  const decoded = decodeFrame(bytes);
  if (!decoded.ok || typeof decoded.message !== "object" || decoded.message === null) return undefined;
  const { error } = decoded.message as { error?: unknown };
  const isWell = error === undefined || (typeof error === "object" && error !== null);
  return isWell ? (decoded.message as RpcResponse) : undefined;
}
