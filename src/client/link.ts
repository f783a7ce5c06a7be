/**
 * A lasting line to the broker for whoever speaks JSON-RPC: the shim and the typed client. Requests that got no answer are
 * sent again over a new connection, with their idempotency keys, so a broker that restarts is only a delay. Where no broker
 * can be reached, a link that spools answers in its place and delivers the writes it kept before anything else later.
 * Concurrency: one owner; `send` may be called at any time.
 */
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Config } from "../config/config.ts";
import { type Clock, SYSTEM_CLOCK, type Timer } from "../platform/clock.ts";
import { PalaceError, type WireErrorData } from "../protocol/errors.ts";
import { ABSENCE_PATIENCE_MS, PEER_IN_FLIGHT_MAX } from "../protocol/limits.ts";
import { type RequestId, type RpcRequest, type RpcResponse, UNNAMED_AGENT } from "../protocol/spec.ts";
import { decodeFrame, FrameSplitter } from "../transport/frame.ts";
import { isBridged, isBridgeUp } from "./bridge.ts";
import { openStream, type Stream } from "./discover.ts";
import { toRpcError } from "./rpc-error.ts";
import { Silence } from "./silence.ts";
import type { Spool } from "./spool.ts";
import type { EnsureOptions } from "./start.ts";

export type LinkOptions = {
  config: Config;
  agent: string;
  start: "auto" | "never";
  /** One message of the broker, without its LF: a response to a request, or a notification. */
  onLine: (line: Buffer | string) => void;
  /** Without a broker: requests fail, or they are answered in its place and writes are kept for it (default: fail). */
  outage?: "fail" | "spool";
  /** How a broker is reached, and the time; the simulation brings its own. */
  reach?: Reach;
  clock?: Clock;
};

export type Reach = {
  open: (config: Config, agent: string) => Promise<Stream | undefined>;
  ensure: (config: Config, options: EnsureOptions) => Promise<unknown>;
};

const REACH: Reach = {
  open: openStream,
  // Loaded when there is nobody: a shim that finds its broker starts without it.
  ensure: async (config, options) => (await import("./start.ts")).ensureBroker(config, options),
};

type Pending = { line: string; since: number };

/** How often a request is put to a busy broker, or to brokers that keep dying, before its owner hears of it. */
const PATIENCE_MS = 60_000;
/** Who waits for an answer as long as that is told before then that there is none to be had, and why. */
const BUSY_PATIENCE_MS = 45_000;
/** A broker elsewhere that was there a moment ago: it is being started again, or the way to it is broken. */
const RESTART_PATIENCE_MS = 10_000;
/** The same for who can do without: an agent hears within a second that there is no broker. */
const OUTAGE_PATIENCE_MS = 700;
/** A broker that is being started here answers in a fraction of this. */
const STARTING_PATIENCE_MS = 10_000;
/** A request that holds it may be one whose answer tells how ids are made. */
const ADD_DRAWER = '"mempalace_add_drawer"';
const RETRY_MS = 50;
const RETRY_MAX_MS = 1_000;
/** How often a broker is looked for while writes are kept for it. */
const SPOOL_RETRY_MAX_MS = 5_000;

/** Loaded when there is an outage, or something was kept in one. */
type Outage = typeof import("./outage.ts") & typeof import("./delivery.ts") & { spool: Spool };

export class Link {
  readonly #options: LinkOptions;
  readonly #pending = new Map<RequestId, Pending>();
  /** Kept writes that are being delivered, by the ids we gave them. */
  readonly #delivering = new Map<RequestId, (response: RpcResponse | undefined) => void>();
  /** Notifications of a moment without connection; a few, they are never many. */
  #unsent: string[] = [];
  readonly #silence: Silence;
  readonly #clock: Clock;
  readonly #reach: Reach;
  #socket: Socket | undefined;
  /** True once what was kept is delivered: requests flow. */
  #isOpen = false;
  #openedAtMs = 0;
  #connecting: Promise<void> | undefined;
  #closed = false;
  #wasConnected = false;
  /** Nobody was there just now: it is not waited for again, only looked for. */
  #isAway = false;
  #startingUntilMs = 0;
  #hasLearnt = false;
  #agent: string;
  #impatience: Timer | undefined;
  #retry: Timer | undefined;
  #retryMs = RETRY_MAX_MS;
  #outage: Outage | undefined;
  /** The broker does not take what was kept (a full disk, say): later writes line up behind it. */
  #isStuck = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#agent = options.agent;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#reach = options.reach ?? REACH;
    this.#silence = new Silence(this.#clock);
  }

  get isUnnamed(): boolean {
    return this.#agent === UNNAMED_AGENT;
  }

  /** The name that the next connections give. */
  set agent(name: string) {
    this.#agent = name;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Sends one message. With an id its answer comes to `onLine`, an error answer of our own making if all fails. */
  send(id: RequestId | undefined, line: string): void {
    if (id !== undefined) {
      if (this.#isStuck && this.#outage?.isWrite(line) === true) return this.#answerInstead(line, STUCK);
      this.#pending.set(id, { line, since: this.#clock.now() });
    }
    if (this.#isOpen && this.#socket !== undefined) {
      this.#socket.write(`${line}\n`);
      this.#silence.watch(this.#socket, this.#isAwaiting);
      return;
    }
    if (id === undefined && this.#unsent.length < PEER_IN_FLIGHT_MAX) this.#unsent.push(line);
    this.#reconnect();
  }

  /** Its owner wants no answer to this request any more; the broker is told, and it is not sent again. */
  cancel(id: RequestId, notification: string): void {
    if (!this.#pending.delete(id)) return;
    if (this.#isOpen) this.#socket?.write(`${notification}\n`);
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
    this.#silence.stop();
    this.#impatience?.clear();
    this.#retry?.clear();
  }

  get #spools(): boolean {
    return this.#options.outage === "spool";
  }

  readonly #isAwaiting = (): boolean => this.#pending.size > 0 || this.#delivering.size > 0;

  #reconnect(): void {
    if (this.#spools && this.#pending.size > 0)
      this.#impatience ??= this.#clock.after(OUTAGE_PATIENCE_MS, this.#onImpatience);
    void this.connect().catch(() => {});
  }

  /** An agent is not kept waiting for a network that swallows everything; what is sought goes on being sought. */
  readonly #onImpatience = (): void => {
    const { config } = this.#options;
    this.#impatience = undefined;
    if (this.#socket !== undefined || this.#closed || this.#pending.size === 0) return;
    // Once away, what is started here leaves again for all we know: the palace is held by whom we cannot reach.
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
    const agent = this.#agent;
    const stream = await this.#reach.open(config, agent);
    if (stream !== undefined) return stream;
    if (start === "never") throw new PalaceError("TRANSPORT_REFUSED", "no broker is running", "run `palace start`");
    const firstMs = this.#spools ? OUTAGE_PATIENCE_MS : ABSENCE_PATIENCE_MS;
    const patienceMs = this.#wasConnected && !this.#spools ? RESTART_PATIENCE_MS : firstMs;
    await this.#reach.ensure(config, {
      patienceMs: this.#isAway ? 0 : patienceMs,
      onStarting: () => (this.#startingUntilMs = this.#clock.now() + STARTING_PATIENCE_MS),
    });
    return this.#reach.open(config, agent);
  }

  async #adopt({ socket, rest }: Stream): Promise<void> {
    if (this.#closed) return void socket.destroy();
    const splitter = new FrameSplitter();
    const onData = (chunk: Buffer): void => {
      this.#silence.heard();
      for (const frame of splitter.push(chunk)) if ("bytes" in frame) this.#onFrame(frame.bytes);
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
    this.#silence.watch(socket, this.#isAwaiting);
  }

  #onFrame(bytes: Buffer): void {
    const response = toResponse(bytes);
    // Whoever says that is no broker, or one that has lost its way: the next connection may be better.
    if (response === undefined) return void this.#socket?.destroy();
    const id = response.id ?? undefined;
    if (this.#silence.isPong(id)) return;
    const delivered = id === undefined ? undefined : this.#delivering.get(id);
    if (delivered !== undefined) return delivered(response);
    const pending = id === undefined ? undefined : this.#pending.get(id);
    // An answer that came already, of a request that was put twice.
    if (id !== undefined && pending === undefined) return;
    if (id !== undefined && pending !== undefined) {
      const data = "error" in response ? (response.error.data as Partial<WireErrorData> | undefined) : undefined;
      // Neither was the call taken: it is put again, to this broker or to the next.
      if (data?.code === "BROKER_SHUTTING_DOWN") return;
      if (data?.code === "BROKER_BUSY" && this.#clock.now() - pending.since < BUSY_PATIENCE_MS) {
        this.#clock.after(data.retryAfterMs ?? RETRY_MAX_MS, () => this.#repeat(id));
        return;
      }
      this.#pending.delete(id);
    }
    this.#options.onLine(bytes);
    if (!this.#hasLearnt && pending?.line.includes(ADD_DRAWER) === true) void this.#learn(pending.line, bytes);
  }

  /** Once: how this palace makes ids, for writes that are kept later. */
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
    // What it was at work on all that time, a wait for an event say, begins its patience with brokers that go away now.
    if (now - this.#openedAtMs > PATIENCE_MS) for (const pending of this.#pending.values()) pending.since = now;
    this.#isOpen = false;
    this.#isStuck = false;
    this.#silence.stop();
    for (const settle of this.#delivering.values()) settle(undefined);
    // Without open requests the next one connects: a broker that ended for want of work is not woken for nothing.
    if (!this.#closed && this.#pending.size > 0) this.#reconnect();
  }

  #expire(): void {
    for (const [id, { since }] of this.#pending) {
      if (this.#clock.now() - since > PATIENCE_MS)
        this.#fail(id, new PalaceError("TRANSPORT_CLOSED", "the broker kept going away", "run `palace logs`"));
    }
  }

  #fail(id: RequestId, error: PalaceError): void {
    this.#pending.delete(id);
    this.#options.onLine(JSON.stringify({ jsonrpc: "2.0", id, error: toRpcError(error) }));
  }

  // --- without a broker ---

  /** Answers all that wait, in the broker's place or with `error`, and looks again later where writes are kept. */
  async #withdraw(error: PalaceError): Promise<void> {
    const outage = this.#spools ? await this.#loadOutage() : undefined;
    if (outage?.isOutage(error) !== true) {
      for (const id of [...this.#pending.keys()]) this.#fail(id, error);
      return;
    }
    // A broker may have come meanwhile and may be at work on them.
    if (this.#socket !== undefined || this.#closed) return;
    this.#isAway = true;
    for (const [id, { line }] of [...this.#pending]) {
      this.#pending.delete(id);
      this.#answerInstead(line, error);
    }
    if (this.#hasKept()) this.#lookAgain();
  }

  /** Behind what the broker does not take yet, nothing of ours may go first. */
  #withdrawWrites(): void {
    for (const [id, { line }] of [...this.#pending]) {
      if (this.#outage?.isWrite(line) !== true) continue;
      this.#pending.delete(id);
      this.#answerInstead(line, STUCK);
    }
  }

  #answerInstead(line: string, away: PalaceError): void {
    const { config } = this.#options;
    const agent = this.#agent;
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#options.onLine(outage.answerInstead(line, { agent, config, spool: outage.spool, away }));
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

  /** Looks before it names: the palace's tag takes hashing, which a shim's start does without. */
  #hasKept(): boolean {
    const { paths } = this.#options.config;
    return this.#options.start === "auto" && existsSync(paths.spoolRoot) && existsSync(paths.spoolDir);
  }

  /** Everything kept for this palace, by whomever, before anything of our own. */
  async #deliver(socket: Socket): Promise<void> {
    const outage = await this.#loadOutage();
    let lastId = 0;
    const ask = (message: RpcRequest): Promise<RpcResponse | undefined> => {
      if (this.#socket !== socket) return Promise.resolve(undefined);
      const id = `palace/kept-${++lastId}`;
      const { promise, resolve } = Promise.withResolvers<RpcResponse | undefined>();
      this.#delivering.set(id, resolve);
      socket.write(`${JSON.stringify({ ...message, id })}\n`);
      this.#silence.watch(socket, this.#isAwaiting);
      return promise.finally(() => this.#delivering.delete(id));
    };
    // A spool that cannot be read or cleared is no reason to hold back what the broker can answer.
    const delivery = await outage.deliver(outage.spool, ask).catch(() => "stuck" as const);
    this.#isStuck = delivery === "stuck" && this.#spools;
    // Cut off in the middle: nobody may ask for anything any more, and what is left must still arrive.
    if (this.#isStuck || (delivery === "interrupted" && this.#spools)) this.#lookAgain();
  }

  async #loadOutage(): Promise<Outage> {
    if (this.#outage !== undefined) return this.#outage;
    const [outage, delivery, { Spool }] = await Promise.all([
      import("./outage.ts"),
      import("./delivery.ts"),
      import("./spool.ts"),
    ]);
    return (this.#outage ??= { ...outage, ...delivery, spool: new Spool(this.#options.config.paths.spoolDir) });
  }
}

const STUCK = new PalaceError("STORE_UNAVAILABLE", "the broker does not take writes for now", "run `palace doctor`");

/** Undefined for what no broker says. */
function toResponse(bytes: Buffer): RpcResponse | undefined {
  const decoded = decodeFrame(bytes);
  if (!decoded.ok || typeof decoded.message !== "object" || decoded.message === null) return undefined;
  const { error } = decoded.message as { error?: unknown };
  const isWell = error === undefined || (typeof error === "object" && error !== null);
  return isWell ? (decoded.message as RpcResponse) : undefined;
}
