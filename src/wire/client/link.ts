/**
 * Sends the calls of its owner (the shim or the typed client) to the broker, and returns the answers. After a broken connection it sends
 * unanswered calls again, with the same idempotency keys. In an outage, a link with a spool answers calls itself.
 */
import { existsSync } from "node:fs";
import type { Config } from "../../config/config.ts";
import { type Clock, SYSTEM_CLOCK, type Timer } from "../../base/clock.ts";
import { PalaceError, unavailable, type WireErrorData } from "../../base/errors.ts";
import { PEER_IN_FLIGHT_MAX, REQUEST_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { requestTooLarge, tooLarge } from "../../protocol/oversize.ts";
import { UNNAMED_AGENT } from "../../protocol/headers.ts";
import { type RequestId, type RpcRequest, type RpcResponse } from "../../protocol/spec.ts";
import type { McpVersion } from "../../protocol/version.ts";
import { isBridged, isBridgeUp } from "./bridge.ts";
import { Connection } from "./connection.ts";
import { type Introduction, openStream, type Stream } from "./discover.ts";
import {
  dialTimeoutMs,
  fateOfAnswered,
  fateOfNew,
  fateOfRepeated,
  fateOfSilent,
  fateOfUnreachable,
  nextPresence,
  type Presence,
  type Sighting,
} from "./outage-policy.ts";
import type { OfflineRules } from "./offline-rules.ts";
import { toRpcError } from "./rpc-error.ts";
import type { Spool } from "./spool.ts";
import type { EnsureOptions } from "./start.ts";
import {
  OUTAGE_TIMEOUT_MS,
  REPEAT_TIMEOUT_MS,
  RETRY_MAX_MS,
  SPOOL_RETRY_MAX_MS,
  STARTING_TIMEOUT_MS,
} from "./timeouts.ts";

/** Settings of a link. */
export type LinkOptions = {
  config: Config;
  agent: string;
  start: "auto" | "never";
  /** Names of the project that searches prefer. */
  project?: readonly string[];
  /** Called with each response or notification, without its LF. */
  onLine: (line: Buffer | string) => void;
  /** Loads the rules for an outage. Without this function the link has no spool, and calls fail in an outage. */
  offline?: () => Promise<OfflineRules>;
  reach?: Reach;
  clock?: Clock;
};

/** Functions that reach a broker, which tests replace. `open`: as openStream. `ensure`: as ensureBroker. */
export type Reach = {
  open: (config: Config, agent: string, introduction: Introduction) => Promise<Stream | undefined>;
  ensure: (config: Config, options: EnsureOptions) => Promise<unknown>;
};

const REACH: Reach = {
  open: openStream,
  // Imported lazily, because most shims find a running broker.
  ensure: async (config, options) => (await import("./start.ts")).ensureBroker(config, options),
};

/** Call without an answer yet. `since`: start of the call on the link's clock, ms. */
type Call = { line: string; since: number };

/** Text in each call of add_drawer, whose answer reveals the id recipe. */
const ADD_DRAWER = '"mempalace_add_drawer"';
/** Modules that the link loads in an outage, or if the spool has writes. */
type Outage = typeof import("./answer-offline.ts") &
  typeof import("./send-spooled.ts") & { spool: Spool; rules: OfflineRules | undefined };

/** Gives each call one response: a broker's answer, an answer from this machine, or an error. */
export class Link {
  readonly #options: LinkOptions;
  readonly #clock: Clock;
  readonly #reach: Reach;
  readonly #connection: Connection;
  readonly #calls = new Map<RequestId, Call>();
  /** Callbacks for the answers to spooled writes that were just sent, by request id. `undefined`: the connection ended. */
  readonly #delivering = new Map<RequestId, (response: RpcResponse | undefined) => void>();
  /** Notifications that wait for a connection. */
  #unsent: string[] = [];
  #presence: Presence = "unknown";
  #startingUntilMs = 0;
  #hasLearnt = false;
  #agent: string;
  revision: McpVersion | undefined;
  #outageTimer: Timer | undefined;
  #retry: Timer | undefined;
  #retryMs = RETRY_MAX_MS;
  #outage: Outage | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#agent = options.agent;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#reach = options.reach ?? REACH;
    this.#connection = new Connection(
      {
        dial: () => this.#dial(),
        prepare: () => this.#prepare(),
        onConnected: () => this.#onConnected(),
        onDialled: () => this.#giveUpOld(),
        onUnreachable: (error) => this.#onUnreachable(error),
        onLost: (connectedMs) => this.#onLost(connectedMs),
        onMessage: (message, bytes) => this.#onMessage(message, bytes),
        onOversize: (id) => this.#onOversize(id),
        isAwaiting: () => this.#calls.size > 0 || this.#delivering.size > 0,
      },
      this.#clock,
    );
  }

  get isUnnamed(): boolean {
    return this.#agent === UNNAMED_AGENT;
  }

  /** Sets the agent's name. Later connections send it to the broker. */
  set agent(name: string) {
    this.#agent = name;
  }

  get pendingCount(): number {
    return this.#calls.size;
  }

  /** Sends one message, at any time. If it has an id, `onLine` gets one answer, or an error of our own. */
  send(id: RequestId | undefined, line: string): void {
    if (id !== undefined && Buffer.byteLength(line) > REQUEST_SIZE_MAX_BYTES) return this.#fail(id, requestTooLarge());
    const isWrite = (): boolean => id !== undefined && this.#outage?.isWrite(line) === true;
    const fate = fateOfNew(this.#presence, this.#connection.state === "connected", isWrite);
    if (fate === "answer offline") return this.#answerOffline(line, REFUSES);
    if (id !== undefined) this.#calls.set(id, { line, since: this.#clock.now() });
    if (fate === "send") return void this.#connection.write(line);
    if (id === undefined && this.#unsent.length < PEER_IN_FLIGHT_MAX) this.#unsent.push(line);
    this.#await();
  }

  /** Drops a call: tells the broker, and never sends the call again. */
  cancel(id: RequestId, notification: string): void {
    if (this.#calls.delete(id) && this.#connection.state === "connected") this.#connection.write(notification);
  }

  /** Connects, and starts a broker if `start` allows that. Errors: as openStream and ensureBroker; open calls get them, too. */
  connect(): Promise<void> {
    return this.#connection.connect();
  }

  /** Connects in the background. Open calls get its errors. A bug becomes an unhandled rejection, which ends the process. */
  connectSoon(): void {
    void this.connect().catch((error: unknown) => {
      if (!(error instanceof PalaceError)) throw error;
    });
  }

  close(): void {
    this.#connection.close();
    this.#calls.clear();
    for (const settle of this.#delivering.values()) settle(undefined);
    this.#outageTimer?.clear();
    this.#retry?.clear();
  }

  get #spools(): boolean {
    return this.#options.offline !== undefined;
  }

  #saw(sighting: Sighting): void {
    this.#presence = nextPresence(this.#presence, sighting);
  }

  /** Looks for a broker. After OUTAGE_TIMEOUT_MS, `#onSilence` decides whether open calls wait on, while the search continues. */
  #await(): void {
    if (this.#spools && this.#calls.size > 0)
      this.#outageTimer ??= this.#clock.after(OUTAGE_TIMEOUT_MS, () => this.#onSilence());
    this.connectSoon();
  }

  #onSilence(): void {
    const { config } = this.#options;
    this.#outageTimer = undefined;
    if (this.#connection.hasStream || this.#connection.state === "closed" || this.#calls.size === 0) return;
    const isStarting = this.#clock.now() < this.#startingUntilMs;
    if (fateOfSilent(this.#presence, isStarting, isBridged(config) && isBridgeUp(config)) === "wait") this.#await();
    else void this.#onUnreachable(new PalaceError("TRANSPORT_TIMEOUT", "no broker answers", "run `palace doctor`"));
  }

  async #dial(): Promise<Stream | undefined> {
    const { config, start, project } = this.#options;
    const open = (): Promise<Stream | undefined> =>
      this.#reach.open(config, this.#agent, { revision: this.revision, ...(project !== undefined && { project }) });
    const stream = await open();
    if (stream !== undefined) return stream;
    if (start === "never") throw new PalaceError("TRANSPORT_REFUSED", "no broker is running", "run `palace start`");
    await this.#reach.ensure(config, {
      timeoutMs: dialTimeoutMs(this.#presence, this.#spools),
      onStarting: () => (this.#startingUntilMs = this.#clock.now() + STARTING_TIMEOUT_MS),
    });
    return open();
  }

  /** Delivers the spool before the link sends its calls. */
  async #prepare(): Promise<void> {
    this.#saw("connected");
    if (this.#hasSpooled()) await this.#deliver();
  }

  #onConnected(): void {
    if (this.#presence !== "refusing") this.#retryMs = RETRY_MAX_MS;
    // The broker refuses spooled writes for now. New writes also go into the spool, which keeps their order.
    else this.#withdraw((line) => this.#outage?.isWrite(line) === true, REFUSES);
    const lines = [...this.#unsent, ...[...this.#calls.values()].map(({ line }) => line)];
    this.#unsent = [];
    if (lines.length > 0) this.#connection.write(lines.join("\n"));
  }

  #onMessage(response: RpcResponse, bytes: Buffer): void {
    const id = response.id ?? undefined;
    const delivered = id === undefined ? undefined : this.#delivering.get(id);
    if (delivered !== undefined) return delivered(response);
    const call = id === undefined ? undefined : this.#calls.get(id);
    if (id !== undefined) {
      // The call was cancelled, or was sent twice and already has an answer.
      if (call === undefined) return;
      const data = "error" in response ? (response.error.data as Partial<WireErrorData> | undefined) : undefined;
      const fate = fateOfAnswered(data, this.#clock.now() - call.since);
      if (fate === "wait") return;
      if (fate !== "pass on") return void this.#clock.after(fate.sendAgainAfterMs, () => this.#sendAgain(id));
      this.#calls.delete(id);
    }
    this.#options.onLine(bytes);
    if (!this.#hasLearnt && call?.line.includes(ADD_DRAWER) === true) void this.#learn(call.line, bytes);
  }

  /** Fails the call whose answer is too long, or all calls if that answer's id is unknown. */
  #onOversize(id: RequestId | undefined): void {
    const error = tooLarge("the broker's answer");
    if (id !== undefined) this.#delivering.get(id)?.({ jsonrpc: "2.0", id, error: toRpcError(error) });
    for (const one of id === undefined ? [...this.#calls.keys()] : [id])
      if (this.#calls.has(one)) this.#fail(one, error);
  }

  /** Learns the palace's id recipe once, for writes that are spooled later. */
  async #learn(request: string, answer: Buffer): Promise<void> {
    this.#hasLearnt = true;
    const [{ learnIdRecipe }, rules] = await Promise.all([import("./learned-id-recipe.ts"), this.#options.offline?.()]);
    if (rules !== undefined) learnIdRecipe(rules, this.#options.config.paths, request, answer.toString("utf8"));
  }

  #sendAgain(id: RequestId): void {
    const call = this.#calls.get(id);
    if (call !== undefined && this.#connection.state === "connected") this.#connection.write(call.line);
  }

  #onLost(connectedMs: number): void {
    const now = this.#clock.now();
    // After a long connection, open calls (for example a wait for an event) get their full time again.
    if (connectedMs > REPEAT_TIMEOUT_MS) for (const call of this.#calls.values()) call.since = now;
    this.#saw("ended");
    for (const settle of this.#delivering.values()) settle(undefined);
    // Without open calls, the link connects again at the next call, so that it does not restart a broker that exited because it was idle.
    if (this.#calls.size > 0) this.#await();
  }

  #giveUpOld(): void {
    for (const [id, { since }] of this.#calls)
      if (fateOfRepeated(this.#clock.now() - since) === "give up")
        this.#fail(id, new PalaceError("TRANSPORT_CLOSED", "the broker ended repeatedly", "run `palace logs`"));
  }

  #fail(id: RequestId, error: PalaceError): void {
    this.#calls.delete(id);
    this.#options.onLine(JSON.stringify({ jsonrpc: "2.0", id, error: toRpcError(error) }));
  }

  /** Answers all open calls, from this machine or with `error`. Looks for a broker again later if the spool has writes. */
  async #onUnreachable(error: PalaceError): Promise<void> {
    if (fateOfUnreachable(error, this.#spools) === "give up") {
      for (const id of [...this.#calls.keys()]) this.#fail(id, error);
      return;
    }
    await this.#loadOutage();
    // If the link has connected meanwhile, a broker may be working on the calls.
    if (this.#connection.hasStream || this.#connection.state === "closed") return;
    this.#saw("outage");
    this.#withdraw(() => true, error);
    if (this.#hasSpooled()) this.#lookAgain();
  }

  #withdraw(isMeant: (line: string) => boolean, away: PalaceError): void {
    for (const [id, { line }] of [...this.#calls]) {
      if (!isMeant(line)) continue;
      this.#calls.delete(id);
      this.#answerOffline(line, away);
    }
  }

  #answerOffline(line: string, away: PalaceError): void {
    const { answerInstead, spool, rules } = this.#outage ?? {};
    if (answerInstead === undefined || spool === undefined || rules === undefined) return;
    const absence = { rules, agent: this.#agent, revision: this.revision, config: this.#options.config, spool, away };
    this.#options.onLine(answerInstead(line, absence));
  }

  #lookAgain(): void {
    this.#retry?.clear();
    if (this.#connection.state === "closed") return;
    this.#retry = this.#clock.after(this.#retryMs, () => {
      if (this.#connection.state === "connected") void this.#deliver();
      else this.connectSoon();
    });
    this.#retryMs = Math.min(this.#retryMs * 2, SPOOL_RETRY_MAX_MS);
  }

  /** Returns true if the spool may have writes. Checks the parent folder first: `spoolDir` needs a hash, which slows a shim's start. */
  #hasSpooled(): boolean {
    const { paths } = this.#options.config;
    return this.#options.start === "auto" && existsSync(paths.spoolRoot) && existsSync(paths.spoolDir);
  }

  /** Delivers the palace's spool, with the writes of all processes. */
  async #deliver(): Promise<void> {
    const { deliver, spool } = await this.#loadOutage();
    let lastId = 0;
    const ask = (message: RpcRequest): Promise<RpcResponse | undefined> => {
      const id = `palace/kept-${++lastId}`;
      const { promise, resolve } = Promise.withResolvers<RpcResponse | undefined>();
      this.#delivering.set(id, resolve);
      if (!this.#connection.write(JSON.stringify({ ...message, id }))) resolve(undefined);
      return promise.finally(() => this.#delivering.delete(id));
    };
    const delivery = await deliver(spool, ask).catch((error: unknown) => {
      // An unreadable spool must not delay calls that the broker can answer.
      if (error instanceof PalaceError) return "stuck" as const;
      throw error;
    });
    if (!this.#spools) return;
    this.#saw(delivery === "stuck" ? "refused the spool" : "took the spool");
    // The remaining writes must be delivered even if the owner makes no further call.
    if (delivery !== "delivered") this.#lookAgain();
  }

  async #loadOutage(): Promise<Outage> {
    if (this.#outage !== undefined) return this.#outage;
    const [outage, delivery, { Spool }, rules] = await Promise.all([
      import("./answer-offline.ts"),
      import("./send-spooled.ts"),
      import("./spool.ts"),
      this.#options.offline?.(),
    ]);
    const spool = new Spool(this.#options.config.paths.spoolDir);
    return (this.#outage ??= { ...outage, ...delivery, spool, rules });
  }
}

const REFUSES = unavailable("the broker does not take writes for now", "run `palace doctor`");
