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
import { PalaceError } from "../protocol/errors.ts";
import { dial, type Endpoint } from "../transport/endpoint.ts";
import type { ConnectionEvents } from "./channel.ts";
import type { BridgeSettings } from "./settings.ts";

const START_MAX_MS = 10_000;
/** A living master answers `ssh -O check` in milliseconds; a stopped one never does. */
const MASTER_MAX_MS = 1_000;
const POLL_MS = 20;
const STDERR_KEPT_CHARS = 500;

/** Returns `ssh` with its options, up to the host's name. It never prompts, because nobody is there to answer. */
export function sshArguments(sshConfig: string | undefined): string[] {
  return [...(sshConfig === undefined ? [] : ["-F", sshConfig]), "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"];
}

export class SshCommand extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #at: Endpoint & { kind: "unix" };
  /** Our own `ssh` with the forwarding. Undefined: the user's master may hold it, perhaps for an earlier resident. */
  #child: ChildProcess | undefined;
  #starting: Promise<void> | undefined;

  constructor(settings: BridgeSettings, bridgeDir: string) {
    super();
    this.#settings = settings;
    this.#at = { kind: "unix", path: join(bridgeDir, "forward.sock") };
  }

  /** Errors: TRANSPORT_REFUSED with ssh's message. */
  async channel(): Promise<Duplex> {
    // The kernel accepts connections for a stopped master as well, so dialling proves nothing then.
    const isHung = this.#child === undefined && (await this.#isMasterHung());
    try {
      // Another channel may have connected meanwhile.
      if (!isHung || this.#child !== undefined) return await dial(this.#at);
    } catch {
      // The forwarding has not started, or has ended.
    }
    await (this.#starting ??= this.#start(isHung).finally(() => (this.#starting = undefined)));
    return dial(this.#at);
  }

  /**
   * A master that was stopped (a laptop's sleep, SIGSTOP) takes requests and answers none, and `ConnectTimeout` does not
   * bound the wait for it. We then connect alone instead.
   */
  async #isMasterHung(): Promise<boolean> {
    const check = this.#ssh("-O", "check", this.#settings.target);
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      check.kill("SIGKILL");
    }, MASTER_MAX_MS);
    await new Promise((resolve) => check.on("error", resolve).on("close", resolve));
    clearTimeout(late);
    return isLate;
  }

  /**
   * With a shared connection `ssh` hands the forwarding to its master and exits, so readiness means that somebody listens.
   */
  async #start(isAlone: boolean): Promise<void> {
    const { target } = this.#settings;
    rmSync(this.#at.path, { force: true });
    const alone = isAlone ? ["-o", "ControlPath=none"] : [];
    const child = this.#ssh(...alone, "-o", "ExitOnForwardFailure=yes", "-N", "-L", this.#forwarding(), target);
    let said = "";
    let isOver = false;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
    child.on("error", (error) => (said = error.message));
    child.on("close", (code) => {
      isOver = true;
      if (this.#child === child && code !== 0) this.emit("down", said.trim() || "ssh ended");
      if (this.#child === child) this.#child = undefined;
    });
    for (const deadline = performance.now() + START_MAX_MS; ; await sleep(POLL_MS)) {
      const wasOver = isOver;
      if (await this.#isListening()) break;
      if (!wasOver && performance.now() < deadline) continue;
      child.kill();
      const why = said.trim() || "no connection";
      this.emit("down", why);
      throw new PalaceError("TRANSPORT_REFUSED", `ssh ${target}: ${why}`, "palace bridge status");
    }
    this.#child = isOver ? undefined : child;
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
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) child.kill();
    // The master belongs to the user; only our forwarding is removed from it.
    else if (existsSync(this.#at.path))
      this.#ssh("-O", "cancel", "-L", this.#forwarding(), this.#settings.target).on("error", () => {});
  }
}
