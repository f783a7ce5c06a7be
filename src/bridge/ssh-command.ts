/**
 * The bridge through the user's own `ssh`: one process that forwards a local socket, with the user's configuration, so that it
 * rides on a shared connection (ControlMaster), jump hosts and agents as that says.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { PalaceError } from "../protocol/errors.ts";
import { dial } from "../transport/endpoint.ts";
import type { ConnectionEvents } from "./connection.ts";
import type { BridgeSettings } from "./settings.ts";

const START_MAX_MS = 10_000;
const POLL_MS = 20;
const STDERR_KEPT_CHARS = 500;

/** `ssh` with its options, before the host's name. Never asks: nobody is there to answer. */
export function sshArguments(sshConfig: string | undefined): string[] {
  return [...(sshConfig === undefined ? [] : ["-F", sshConfig]), "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"];
}

export class SshCommand extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #forwarded: string;
  #child: ChildProcess | undefined;
  #starting: Promise<void> | undefined;

  constructor(settings: BridgeSettings, bridgeDir: string) {
    super();
    this.#settings = settings;
    this.#forwarded = join(bridgeDir, "forward.sock");
  }

  /** Errors: TRANSPORT_REFUSED with what ssh said. */
  async channel(): Promise<Duplex> {
    if (this.#child === undefined) await (this.#starting ??= this.#start().finally(() => (this.#starting = undefined)));
    return dial({ kind: "unix", path: this.#forwarded });
  }

  async #start(): Promise<void> {
    const { target, remoteSocket = "", sshConfig } = this.#settings;
    rmSync(this.#forwarded, { force: true });
    const child = spawn(
      "ssh",
      [
        ...sshArguments(sshConfig),
        ...["-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=2"],
        ...["-N", "-L", `${this.#forwarded}:${remoteSocket}`, target],
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
    const ended = once(child, "close").catch(() => {});
    let isOver = false;
    void ended.then(() => {
      isOver = true;
      if (this.#child === child) this.emit("down", said.trim() || "ssh ended");
      this.#child = undefined;
    });
    for (const deadline = Date.now() + START_MAX_MS; !existsSync(this.#forwarded); await sleep(POLL_MS)) {
      if (!isOver && Date.now() < deadline) continue;
      child.kill();
      this.emit("down", said.trim() || "ssh did not connect");
      throw new PalaceError(
        "TRANSPORT_REFUSED",
        `ssh ${target}: ${said.trim() || "no connection"}`,
        "palace bridge status",
      );
    }
    this.#child = child;
    this.emit("connected");
  }

  close(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill();
  }
}
