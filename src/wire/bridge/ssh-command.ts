/**
 * The bridge through the user's own `ssh`: one process that forwards a local socket under the user's configuration, and so
 * uses its shared connection (ControlMaster), jump hosts and agents.
 */
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
/** Far longer than a broker keeps one that asks how it is. */
const ANSWER_MAX_MS = 3_000;
/** A living master answers `ssh -O check` in milliseconds; a stopped one never does. */
const MASTER_MAX_MS = 1_000;
const POLL_MS = 20;
const STDERR_KEPT_CHARS = 500;

/** Returns `ssh` with its options, up to the host's name. It never prompts: no user is there to answer. */
export function sshArguments(sshConfig: string | undefined): string[] {
  return [...(sshConfig === undefined ? [] : ["-F", sshConfig]), "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"];
}

/** Channels through one forwarding of `ssh`. Emits `connected` and `down` when the forwarding does. */
export class SshCommand extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #at: Endpoint & { kind: "unix" };
  /** Every `ssh` of ours that runs. Without one, the user's master may hold the forwarding, perhaps for an earlier resident. */
  readonly #children = new Set<ChildProcess>();
  /** The `ssh` that forwards beside the user's master and ends by itself when the host is silent. */
  #alone: ChildProcess | undefined;
  #starting: Promise<void> | undefined;

  constructor(settings: BridgeSettings, bridgeDir: string) {
    super();
    this.#settings = settings;
    this.#at = { kind: "unix", path: join(bridgeDir, "forward.sock") };
  }

  /** Errors: TRANSPORT_REFUSED with ssh's message. */
  async channel(): Promise<Duplex> {
    const isHung = this.#alone === undefined && (await this.#isSharedHung());
    try {
      // Another channel may have connected meanwhile.
      if (!isHung || this.#alone !== undefined) return await dial(this.#at);
    } catch {
      // The forwarding has not started, or has ended.
    }
    await (this.#starting ??= this.#start(isHung).finally(() => (this.#starting = undefined)));
    return dial(this.#at);
  }

  /**
   * A master that was stopped (a laptop's sleep, SIGSTOP) takes connections and requests and answers none, and `ConnectTimeout`
   * does not bound the wait for it. We then connect alone instead. Only an answer through the forwarding proves that it works:
   * the master's own socket may be gone while the master still holds the forwarding.
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

  /**
   * With a shared connection `ssh` hands the forwarding to its master and exits, so readiness means that somebody listens.
   */
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
    // The master belongs to the user; only our forwarding is removed from it.
    if (this.#children.size === 0 && existsSync(this.#at.path))
      this.#ssh("-O", "cancel", "-L", this.#forwarding(), this.#settings.target).on("error", () => {});
  }
}
