/** Keeps one SSH connection to the host and opens channels through it. Accepts only the pinned host key. */
import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { Client, type ClientChannel } from "ssh2";
import { PalaceError } from "../../base/errors.ts";
import { afterGreeting, type ConnectionEvents, inTime } from "./channel.ts";
import { GATE_COMMAND } from "./gate.ts";
import type { BridgeSettings } from "./settings.ts";

const READY_TIMEOUT_MS = 8_000;
/** Time between keep-alive messages. After KEEPALIVE_MAX unanswered messages the connection ends. */
const KEEPALIVE_MS = 2_000;
const KEEPALIVE_MAX = 2;
const BACKOFF_MS = 250;
const BACKOFF_MAX_MS = 5_000;
const STDERR_KEPT_CHARS = 500;

/** Host, port and user to connect to. */
export type Target = Pick<BridgeSettings, "host" | "port" | "user">;

/** Connects. `isKnown`: checks the raw host key. Errors: BROKER_DENIED, TRANSPORT_REFUSED, TRANSPORT_TIMEOUT. */
export function connectSsh(
  { host, port, user }: Target,
  privateKey: Buffer,
  isKnown: (hostKey: Buffer) => boolean,
): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    let refusedHost = false;
    const fail = (error: Error & { level?: string }): void => {
      client.destroy();
      reject(asPalaceError(error, { host, port, user }, refusedHost));
    };
    client
      .once("ready", () => {
        client.off("error", fail).on("error", () => {});
        // With Nagle's algorithm, a small message waits up to 40 ms for the acknowledgement of the previous message.
        client.setNoDelay(true);
        resolve(client);
      })
      .once("error", fail)
      .once("close", () => fail(new Error("the host closed the connection")));
    client.connect({
      host,
      port,
      username: user,
      privateKey,
      readyTimeout: READY_TIMEOUT_MS,
      keepaliveInterval: KEEPALIVE_MS,
      keepaliveCountMax: KEEPALIVE_MAX,
      hostVerifier: (key: Buffer) => {
        refusedHost = !isKnown(key);
        return !refusedHost;
      },
    });
  });
}

function asPalaceError(
  error: NodeJS.ErrnoException & { level?: string },
  { host, port, user }: Target,
  refusedHost: boolean,
): PalaceError {
  const where = `${user}@${host}:${port}`;
  if (refusedHost)
    return new PalaceError(
      "BROKER_DENIED",
      `${where} shows another host key than the pinned host key`,
      "if the host really has a new key: palace bridge setup HOST --new-host-key",
      { cause: error },
    );
  if (error.level === "client-authentication")
    return new PalaceError("BROKER_DENIED", `${where} refuses this bridge's key`, "palace bridge setup HOST", {
      cause: error,
    });
  const code = error.level === "client-timeout" ? "TRANSPORT_TIMEOUT" : "TRANSPORT_REFUSED";
  const isUnknown = ["ENOTFOUND", "EAI_AGAIN"].includes(error.code ?? "");
  const ssh = `ssh ${port === 22 ? "" : `-p ${port} `}${user}@${host}`;
  const hint = isUnknown
    ? "check the host's name, then: palace bridge setup USER@HOST"
    : `see what your own ssh says: ${ssh}`;
  return new PalaceError(code, `${where} cannot be reached: ${error.message}`, hint, { cause: error });
}

/** SSH connection that is made for the first channel, and again after a loss. Emits `connected` and `down` for the connection. */
export class BridgeConnection extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #privateKey: Buffer;
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #failures = 0;
  #notBeforeMs = 0;
  #lastFailure: PalaceError | undefined;

  constructor(settings: BridgeSettings, privateKey: Buffer) {
    super();
    this.#settings = settings;
    this.#privateKey = privateKey;
  }

  /** Opens a byte stream to the broker. Errors: as connectSsh; BROKER_DENIED and TRANSPORT_CLOSED from the gate. */
  async channel(): Promise<Duplex> {
    const client = await (this.#client ?? this.#connect());
    const { kind, remoteSocket = "" } = this.#settings;
    const opening = kind === "gate" ? openGate(client) : openStreamLocal(client, remoteSocket);
    return inTime(opening, "palace bridge status");
  }

  /** Connects to the host. During the backoff after a failure it fails at once, so callers do not wait for an unreachable host. */
  #connect(): Promise<Client> {
    if (performance.now() < this.#notBeforeMs && this.#lastFailure !== undefined)
      return Promise.reject(this.#lastFailure);
    const pinned = Buffer.from(this.#settings.hostKey, "base64");
    this.#connecting ??= connectSsh(this.#settings, this.#privateKey, (key) => key.equals(pinned))
      .then((client) => {
        this.#client = client;
        this.#failures = 0;
        client.on("error", () => {});
        client.on("close", () => {
          if (this.#client !== client) return;
          this.#client = undefined;
          this.emit("down", "the host closed the connection");
        });
        this.emit("connected");
        return client;
      })
      .catch((error: PalaceError) => {
        this.#notBeforeMs = performance.now() + Math.min(BACKOFF_MS * 2 ** this.#failures, BACKOFF_MAX_MS);
        this.#failures += 1;
        this.#lastFailure = error;
        this.emit("down", error.message);
        throw error;
      })
      .finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  close(): void {
    this.#client?.end();
    this.#client = undefined;
  }
}

/** Opens a channel to the gate. The stream begins after the gate's greeting. */
export function openGate(client: Client): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    client.exec(GATE_COMMAND, (error, channel) => {
      if (error !== undefined) return reject(refused(error.message));
      let said = "";
      channel.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
      resolve(afterGreeting(channel, () => refused(said.trim())));
    });
  });
}

function refused(said: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_CLOSED",
    `the host's gate ended${said === "" ? "" : `: ${said}`}`,
    "palace bridge status",
  );
}

function openStreamLocal(client: Client, socketPath: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.openssh_forwardOutStreamLocal(socketPath, (error, channel) => {
      const why = `the host does not forward to its broker: ${error?.message ?? ""}`;
      if (error === undefined) resolve(channel);
      else reject(new PalaceError("TRANSPORT_REFUSED", why, "palace bridge status"));
    });
  });
}
