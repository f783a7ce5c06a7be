/** Bridge through the user's `ssh`, with the user's configuration: shared connection (ControlMaster), jump hosts, ssh-agent. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { PalaceError } from "../../base/errors.ts";
import { dial, type Endpoint } from "../transport/endpoint.ts";
import { get } from "../transport/http-client.ts";
import type { ConnectionEvents } from "./channel.ts";
import type { BridgeSettings } from "./settings.ts";

const START_MAX_MS = 10_000;
/** Time to wait for `/health`. A broker usually answers far sooner. */
const ANSWER_MAX_MS = 3_000;
/** Time to wait for `ssh -O check`. A running ssh master answers in milliseconds, and a stopped one never. */
const MASTER_MAX_MS = 1_000;
const POLL_MS = 20;
const STDERR_KEPT_CHARS = 500;

/** Returns options with which `ssh` never prompts, because no user is there to answer. */
export function sshArguments(sshConfig: string | undefined): string[] {
  return [...(sshConfig === undefined ? [] : ["-F", sshConfig]), "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"];
}

/** Opens channels through a forwarding of `ssh`. Emits `connected` when the forwarding starts, and `down` when it fails or ends. */
export class SshCommand extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #at: Endpoint & { kind: "unix" };
  /** Our running `ssh` processes. If there are none, the user's ssh master may still forward, perhaps for an earlier resident. */
  readonly #children = new Set<ChildProcess>();
  /** Our `ssh` process that forwards without the user's ssh master. It exits when the host stops answering. */
  #alone: ChildProcess | undefined;
  #starting: Promise<void> | undefined;

  constructor(settings: BridgeSettings, bridgeDir: string) {
    super();
    this.#settings = settings;
    this.#at = { kind: "unix", path: join(bridgeDir, "forward.sock") };
  }

  /** Opens a byte stream to the broker. Errors: TRANSPORT_REFUSED with ssh's message. */
  async channel(): Promise<Duplex> {
    const isHung = this.#alone === undefined && (await this.#isSharedHung());
    try {
      // Another channel may have started `#alone` meanwhile.
      if (!isHung || this.#alone !== undefined) return await dial(this.#at);
    } catch {
      // The forwarding has not started, or has ended.
    }
    await (this.#starting ??= this.#start(isHung).finally(() => (this.#starting = undefined)));
    return dial(this.#at);
  }

  /**
   * Returns true if the user's ssh master hangs. A stopped master (after a laptop's sleep or SIGSTOP) accepts connections and never
   * answers, and `ConnectTimeout` does not limit that wait. An answer of the broker proves that the master works.
   */
  async #isSharedHung(): Promise<boolean> {
    try {
      await get(await dial(this.#at), "/health", {}, ANSWER_MAX_MS);
      return false;
    } catch (error) {
      const isLate = error instanceof PalaceError && error.code === "TRANSPORT_TIMEOUT";
      return isLate || (await this.#isMasterHung());
    }
  }

  async #isMasterHung(): Promise<boolean> {
    const check = this.#ssh("-O", "check", this.#settings.target);
    let isKilled = false;
    const late = setTimeout(() => (isKilled = check.kill("SIGKILL")), MASTER_MAX_MS);
    await new Promise((resolve) => check.on("error", resolve).on("close", resolve));
    clearTimeout(late);
    return isKilled;
  }

  /** Starts the forwarding and waits for the local socket. `ssh` may exit before that, after it has passed the forwarding to its master. */
  async #start(isAlone: boolean): Promise<void> {
    const { target } = this.#settings;
    rmSync(this.#at.path, { force: true });
    const alone = isAlone ? ["-o", "ControlPath=none"] : [];
    const child = this.#ssh(...alone, "-o", "ExitOnForwardFailure=yes", "-N", "-L", this.#forwarding(), target);
    this.#children.add(child);
    let said = "";
    let isReady = false;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
    child.on("error", (error) => (said = error.message));
    child.on("close", (code) => {
      this.#children.delete(child);
      const isUsed = isReady && (this.#alone ?? child) === child;
      if (this.#alone === child) this.#alone = undefined;
      if (isUsed && code !== 0) this.emit("down", said.trim() || "ssh ended");
    });
    for (const deadline = performance.now() + START_MAX_MS; ; await sleep(POLL_MS)) {
      const wasOver = !this.#children.has(child);
      if (await this.#isListening()) break;
      if (!wasOver && performance.now() < deadline) continue;
      child.kill();
      const why = said.trim() || "no connection";
      this.emit("down", why);
      throw new PalaceError("TRANSPORT_REFUSED", `ssh ${target}: ${why}`, "palace bridge status");
    }
    isReady = true;
    if (isAlone && this.#children.has(child)) this.#alone = child;
    this.emit("connected");
  }

  #isListening(): Promise<boolean> {
    return dial(this.#at).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    );
  }

  #forwarding(): string {
    return `${this.#at.path}:${this.#settings.remoteSocket ?? ""}`;
  }

  #ssh(...args: string[]): ChildProcess {
    const alive = ["-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=2"];
    return spawn("ssh", [...sshArguments(this.#settings.sshConfig), ...alive, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
  }

  close(): void {
    this.removeAllListeners();
    for (const child of this.#children) child.kill();
    // The ssh master is the user's, so this removes only our forwarding.
    if (this.#children.size === 0 && existsSync(this.#at.path))
      this.#ssh("-O", "cancel", "-L", this.#forwarding(), this.#settings.target).on("error", () => {});
  }
}
