/**
 * A lasting connection to the broker for clients that speak JSON-RPC: the shim and the typed client. Unanswered requests
 * are sent again over a new connection, with their idempotency keys, so a restarting broker is only a delay. Without a
 * broker, a link with a spool answers itself, and later delivers the spool before anything else. Concurrency: one owner;
 * `send` may be called at any time.
 */
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Config } from "../../config/config.ts";
import { type Clock, SYSTEM_CLOCK, type Timer } from "../../base/clock.ts";
import { PalaceError, type WireErrorData } from "../../base/errors.ts";
import { requestTooLarge, tooLarge } from "../../protocol/oversize.ts";
import { ABSENT_TIMEOUT_MS, PEER_IN_FLIGHT_MAX, REQUEST_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { type RequestId, type RpcRequest, type RpcResponse, UNNAMED_AGENT } from "../../protocol/spec.ts";
import type { McpVersion } from "../../protocol/version.ts";
import { FrameSplitter } from "../transport/frame.ts";
import { isBridged, isBridgeUp } from "./bridge.ts";
import { openStream, type Stream } from "./discover.ts";
import { idInHead, toResponse } from "./response.ts";
import { toRpcError } from "./rpc-error.ts";
import { KeepAlive } from "./keep-alive.ts";
import type { Spool } from "./spool.ts";
import type { EnsureOptions } from "./start.ts";
import {
  REPEAT_TIMEOUT_MS,
  BUSY_TIMEOUT_MS,
  RESTART_TIMEOUT_MS,
  OUTAGE_TIMEOUT_MS,
  STARTING_TIMEOUT_MS,
  RETRY_MS,
  RETRY_MAX_MS,
  SPOOL_RETRY_MAX_MS,
} from "./timeouts.ts";

export type LinkOptions = {
  config: Config;
  agent: string;
  start: "auto" | "never";
  /** One message of the broker, without its LF: a response to a request, or a notification. */
  onLine: (line: Buffer | string) => void;
  /** Decides what happens without a broker: requests fail (the default), or the link answers them and spools writes. */
  outage?: "fail" | "spool";
  /** Reaches a broker; the simulation passes its own. */
  reach?: Reach;
  clock?: Clock;
};

export type Reach = {
  open: (config: Config, agent: string, revision?: McpVersion) => Promise<Stream | undefined>;
  ensure: (config: Config, options: EnsureOptions) => Promise<unknown>;
};

const REACH: Reach = {
  open: openStream,
  // The import is lazy: a shim that finds its broker starts without it.
  ensure: async (config, options) => (await import("./start.ts")).ensureBroker(config, options),
};

type Pending = { line: string; since: number };

/** Marks a request whose answer may reveal the id recipe. */
const ADD_DRAWER = '"mempalace_add_drawer"';
/** Loaded in an outage, or when the spool holds writes. */
type Outage = typeof import("./outage.ts") & typeof import("./delivery.ts") & Waiting;
type Waiting = Pick<typeof import("./spool.ts"), "isOutage"> & { spool: Spool };

export class Link {
  readonly #options: LinkOptions;
  readonly #pending = new Map<RequestId, Pending>();
  /** Spooled writes under delivery, by the request ids that this link gave them. */
  readonly #delivering = new Map<RequestId, (response: RpcResponse | undefined) => void>();
  /** Notifications sent without a connection; they are always few. */
  #unsent: string[] = [];
  readonly #keepAlive: KeepAlive;
  readonly #clock: Clock;
  readonly #reach: Reach;
  #socket: Socket | undefined;
  /** True once the spool is delivered and requests may be sent. */
  #isOpen = false;
  #openedAtMs = 0;
  #connecting: Promise<void> | undefined;
  #closed = false;
  #wasConnected = false;
  /** True after an outage was noticed: the link looks for a broker, but no longer waits for one. */
  #isAway = false;
  #startingUntilMs = 0;
  #hasLearnt = false;
  #agent: string;
  revision: McpVersion | undefined;
  #outageTimer: Timer | undefined;
  #retry: Timer | undefined;
  #retryMs = RETRY_MAX_MS;
  #outage: Outage | undefined;
  /** True when the broker refuses the spooled writes for now (a full disk, say): later writes are spooled behind them. */
  #isStuck = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#agent = options.agent;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#reach = options.reach ?? REACH;
    this.#keepAlive = new KeepAlive(this.#clock);
  }

  get isUnnamed(): boolean {
    return this.#agent === UNNAMED_AGENT;
  }

  /** Sets the name that later connections give, as they give `revision`, that of the client's MCP handshake. */
  set agent(name: string) {
    this.#agent = name;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Sends one message. When it has an id, `onLine` gets its answer, or an error made here if everything fails. */
  send(id: RequestId | undefined, line: string): void {
    if (id !== undefined) {
      if (Buffer.byteLength(line) > REQUEST_SIZE_MAX_BYTES) return this.#fail(id, requestTooLarge());
      if (this.#isStuck && this.#outage?.isWrite(line) === true) return this.#answerInstead(line, STUCK);
      this.#pending.set(id, { line, since: this.#clock.now() });
    }
    if (this.#isOpen && this.#socket !== undefined) {
      this.#socket.write(`${line}\n`);
      this.#keepAlive.watch(this.#socket, this.#isAwaiting);
      return;
    }
    if (id === undefined && this.#unsent.length < PEER_IN_FLIGHT_MAX) this.#unsent.push(line);
    this.#reconnect();
  }

  /** Drops a request whose caller no longer wants the answer: notifies the broker, never sends the request again. */
  cancel(id: RequestId, notification: string): void {
    if (!this.#pending.delete(id)) return;
    if (this.#isOpen) this.#socket?.write(`${notification}\n`);
  }

  /** Connects, starting a broker if allowed. Errors, also for pending requests: those of discovery and start. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
    this.#pending.clear();
    this.#keepAlive.stop();
    this.#outageTimer?.clear();
    this.#retry?.clear();
  }

  get #spools(): boolean {
    return this.#options.outage === "spool";
  }

  readonly #isAwaiting = (): boolean => this.#pending.size > 0 || this.#delivering.size > 0;

  #reconnect(): void {
    if (this.#spools && this.#pending.size > 0)
      this.#outageTimer ??= this.#clock.after(OUTAGE_TIMEOUT_MS, this.#onOutage);
    void this.connect().catch(() => {});
  }

  /** A network that drops every packet must not keep an agent waiting; the search for a broker goes on. */
  readonly #onOutage = (): void => {
    const { config } = this.#options;
    this.#outageTimer = undefined;
    if (this.#socket !== undefined || this.#closed || this.#pending.size === 0) return;
    // Once the broker is away, one started here may exit again, because a process that we cannot reach holds the palace.
    const isStarting = !this.#isAway && this.#clock.now() < this.#startingUntilMs;
    const isWorthIt = isStarting || (isBridged(config) && isBridgeUp(config));
    if (isWorthIt) this.#reconnect();
    else void this.#withdraw(new PalaceError("TRANSPORT_TIMEOUT", "no broker answers", "run `palace doctor`"));
  };

  async #connect(): Promise<void> {
    try {
      for (let wait = RETRY_MS; !this.#isOpen && !this.#closed; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
        const stream = await this.#dial();
        if (stream !== undefined) await this.#adopt(stream);
        else await new Promise<void>((resolve) => this.#clock.after(wait, resolve));
        this.#expire();
      }
    } catch (error) {
      const known =
        error instanceof PalaceError
          ? error
          : new PalaceError("TRANSPORT_REFUSED", "the broker cannot be reached", "run `palace doctor`", {
              cause: error,
            });
      await this.#withdraw(known);
      throw known;
    }
  }

  async #dial(): Promise<Stream | undefined> {
    const { config, start } = this.#options;
    const open = (): Promise<Stream | undefined> => this.#reach.open(config, this.#agent, this.revision);
    const stream = await open();
    if (stream !== undefined) return stream;
    if (start === "never") throw new PalaceError("TRANSPORT_REFUSED", "no broker is running", "run `palace start`");
    const firstMs = this.#spools ? OUTAGE_TIMEOUT_MS : ABSENT_TIMEOUT_MS;
    const timeoutMs = this.#wasConnected && !this.#spools ? RESTART_TIMEOUT_MS : firstMs;
    await this.#reach.ensure(config, {
      timeoutMs: this.#isAway ? 0 : timeoutMs,
      onStarting: () => (this.#startingUntilMs = this.#clock.now() + STARTING_TIMEOUT_MS),
    });
    return open();
  }

  async #adopt({ socket, rest }: Stream): Promise<void> {
    if (this.#closed) return void socket.destroy();
    const splitter = new FrameSplitter();
    const onData = (chunk: Buffer): void => {
      this.#keepAlive.heard();
      for (const frame of splitter.push(chunk)) {
        if ("bytes" in frame) this.#onFrame(frame.bytes);
        else this.#onOversize(frame.head);
      }
    };
    this.#socket = socket;
    this.#wasConnected = true;
    this.#isAway = false;
    socket.on("data", onData);
    socket.on("error", () => {});
    socket.on("close", () => this.#onClose(socket));
    if (rest.length > 0) onData(rest);
    socket.resume();
    if (this.#hasKept()) await this.#deliver(socket);
    if (this.#socket === socket) this.#open(socket);
  }

  #open(socket: Socket): void {
    this.#isOpen = true;
    this.#openedAtMs = this.#clock.now();
    if (!this.#isStuck) this.#retryMs = RETRY_MAX_MS;
    else this.#withdrawWrites();
    const lines = [...this.#unsent, ...[...this.#pending.values()].map((pending) => pending.line)];
    this.#unsent = [];
    if (lines.length === 0) return;
    socket.write(`${lines.join("\n")}\n`);
    this.#keepAlive.watch(socket, this.#isAwaiting);
  }

  #onFrame(bytes: Buffer): void {
    const response = toResponse(bytes);
    // The other side is not a broker, or has lost track of the stream: the next connection may be better.
    if (response === undefined) return void this.#socket?.destroy();
    const id = response.id ?? undefined;
    if (this.#keepAlive.isPong(id)) return;
    const delivered = id === undefined ? undefined : this.#delivering.get(id);
    if (delivered !== undefined) return delivered(response);
    const pending = id === undefined ? undefined : this.#pending.get(id);
    // The request was sent twice, and its first answer has already arrived.
    if (id !== undefined && pending === undefined) return;
    if (id !== undefined && pending !== undefined) {
      const data = "error" in response ? (response.error.data as Partial<WireErrorData> | undefined) : undefined;
      // The broker did not take the call: it is sent again, to this broker or to the next.
      if (data?.code === "BROKER_SHUTTING_DOWN") return;
      if (data?.code === "BROKER_BUSY" && this.#clock.now() - pending.since < BUSY_TIMEOUT_MS) {
        this.#clock.after(data.retryAfterMs ?? RETRY_MAX_MS, () => this.#repeat(id));
        return;
      }
      this.#pending.delete(id);
    }
    this.#options.onLine(bytes);
    if (!this.#hasLearnt && pending?.line.includes(ADD_DRAWER) === true) void this.#learn(pending.line, bytes);
  }

  /** Fails the call whose answer is too long to be read; every call when the answer's beginning does not name one. */
  #onOversize(head: Buffer): void {
    const id = idInHead(head);
    const error = tooLarge("the broker's answer");
    if (id !== undefined) this.#delivering.get(id)?.({ jsonrpc: "2.0", id, error: toRpcError(error) });
    for (const one of id === undefined ? [...this.#pending.keys()] : [id])
      if (this.#pending.has(one)) this.#fail(one, error);
  }

  /** Learns once how this palace makes ids, for writes that are spooled later. */
  async #learn(request: string, answer: Buffer): Promise<void> {
    this.#hasLearnt = true;
    const { learnIdRecipe } = await import("./id-recipe.ts");
    learnIdRecipe(this.#options.config.paths, request, answer.toString("utf8"));
  }

  #repeat(id: RequestId): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined && this.#isOpen) this.#socket?.write(`${pending.line}\n`);
  }

  #onClose(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    const now = this.#clock.now();
    // A request that was served for long, a wait for an event say, gets its full time from this disconnection on.
    if (now - this.#openedAtMs > REPEAT_TIMEOUT_MS) for (const pending of this.#pending.values()) pending.since = now;
    this.#isOpen = false;
    this.#isStuck = false;
    this.#keepAlive.stop();
    for (const settle of this.#delivering.values()) settle(undefined);
    // Without open requests the next request connects: a broker that exited when idle is not started for nothing.
    if (!this.#closed && this.#pending.size > 0) this.#reconnect();
  }

  #expire(): void {
    for (const [id, { since }] of this.#pending)
      if (this.#clock.now() - since > REPEAT_TIMEOUT_MS)
        this.#fail(id, new PalaceError("TRANSPORT_CLOSED", "the broker kept going away", "run `palace logs`"));
  }

  #fail(id: RequestId, error: PalaceError): void {
    this.#pending.delete(id);
    this.#options.onLine(JSON.stringify({ jsonrpc: "2.0", id, error: toRpcError(error) }));
  }

  /** Answers all pending requests, in the broker's place or with `error`; with a filled spool, it looks again later. */
  async #withdraw(error: PalaceError): Promise<void> {
    const outage = this.#spools ? await this.#loadOutage() : undefined;
    if (outage?.isOutage(error) !== true) {
      for (const id of [...this.#pending.keys()]) this.#fail(id, error);
      return;
    }
    // A broker may have connected meanwhile and may be working on them.
    if (this.#socket !== undefined || this.#closed) return;
    this.#isAway = true;
    for (const [id, { line }] of [...this.#pending]) {
      this.#pending.delete(id);
      this.#answerInstead(line, error);
    }
    if (this.#hasKept()) this.#lookAgain();
  }

  /** Writes wait behind the spooled ones that the broker does not take yet, or their order would change. */
  #withdrawWrites(): void {
    for (const [id, { line }] of [...this.#pending]) {
      if (this.#outage?.isWrite(line) !== true) continue;
      this.#pending.delete(id);
      this.#answerInstead(line, STUCK);
    }
  }

  #answerInstead(line: string, away: PalaceError): void {
    if (this.#outage === undefined) return;
    const { answerInstead, spool } = this.#outage;
    const absence = { agent: this.#agent, revision: this.revision, config: this.#options.config, spool, away };
    this.#options.onLine(answerInstead(line, absence));
  }

  #lookAgain(): void {
    this.#retry?.clear();
    if (this.#closed) return;
    this.#retry = this.#clock.after(this.#retryMs, () => {
      if (this.#isOpen && this.#socket !== undefined) void this.#deliver(this.#socket);
      else void this.connect().catch(() => {});
    });
    this.#retryMs = Math.min(this.#retryMs * 2, SPOOL_RETRY_MAX_MS);
  }

  /** Checks for the root first: the palace's tag needs hashing, which a shim's start avoids. */
  #hasKept(): boolean {
    const { paths } = this.#options.config;
    return this.#options.start === "auto" && existsSync(paths.spoolRoot) && existsSync(paths.spoolDir);
  }

  /** Delivers every write spooled for this palace, by any process, before requests of this link. */
  async #deliver(socket: Socket): Promise<void> {
    const outage = await this.#loadOutage();
    let lastId = 0;
    const ask = (message: RpcRequest): Promise<RpcResponse | undefined> => {
      if (this.#socket !== socket) return Promise.resolve(undefined);
      const id = `palace/kept-${++lastId}`;
      const { promise, resolve } = Promise.withResolvers<RpcResponse | undefined>();
      this.#delivering.set(id, resolve);
      socket.write(`${JSON.stringify({ ...message, id })}\n`);
      this.#keepAlive.watch(socket, this.#isAwaiting);
      return promise.finally(() => this.#delivering.delete(id));
    };
    // A spool that cannot be read or cleared must not hold back requests that the broker can answer.
    const delivery = await outage.deliver(outage.spool, ask).catch(() => "stuck" as const);
    this.#isStuck = delivery === "stuck" && this.#spools;
    // After a cut nobody may send another request, and the remaining writes must still be delivered.
    if (delivery !== "delivered" && this.#spools) this.#lookAgain();
  }

  async #loadOutage(): Promise<Outage> {
    if (this.#outage !== undefined) return this.#outage;
    const [outage, delivery, { Spool, isOutage }] = await Promise.all([
      import("./outage.ts"),
      import("./delivery.ts"),
      import("./spool.ts"),
    ]);
    const spool = new Spool(this.#options.config.paths.spoolDir);
    return (this.#outage ??= { ...outage, ...delivery, isOutage, spool });
  }
}

const STUCK = new PalaceError("STORE_UNAVAILABLE", "the broker does not take writes for now", "run `palace doctor`");
