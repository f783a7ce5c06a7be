/**
 * The bridge into a container that runs the broker, through the user's own `docker`: each channel is a `palace gate` in
 * that container, so that no port is opened and a client has no more rights than with a bridge's key.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { Duplex } from "node:stream";
import { PalaceError } from "../protocol/errors.ts";
import { afterGreeting, type ConnectionEvents, inTime } from "./reconnect.ts";
import { GATE_COMMAND } from "./gate.ts";
import type { BridgeSettings } from "./settings.ts";

const STDERR_KEPT_CHARS = 500;
/** The wait for the gate's greeting; the gate may have to start a broker first. */
const GATE_MAX_MS = 25_000;
/** The time that `docker` has to exit after the end of its input; then it is killed. */
const END_MAX_MS = 2_000;

export class DockerExec extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #children = new Set<ChildProcessWithoutNullStreams>();

  constructor(settings: BridgeSettings) {
    super();
    this.#settings = settings;
  }

  /** Opens a byte stream to the broker. Errors: TRANSPORT_REFUSED with docker's message, TRANSPORT_TIMEOUT. */
  async channel(): Promise<Duplex> {
    try {
      const channel = await inTime(this.#open(), "palace bridge status");
      this.emit("connected");
      return channel;
    } catch (error) {
      this.emit("down", (error as Error).message);
      throw error;
    }
  }

  async #open(): Promise<Duplex> {
    const { host: container, dockerOptions = [] } = this.#settings;
    const asked = ["--env", `SSH_ORIGINAL_COMMAND=${GATE_COMMAND}`];
    const gate = [...dockerOptions, "exec", "--interactive", ...asked, container, "palace", "gate"];
    const child = spawn("docker", gate, { stdio: "pipe" });
    this.#children.add(child);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
    child.stdin.on("error", () => {});
    child.on("error", (error) => (said = error.message)).on("close", () => this.#children.delete(child));
    const late = setTimeout(() => endChild(child), GATE_MAX_MS);
    const ended = (): PalaceError => refused(container, said.trim() === "" ? "its gate ended" : lastLine(said));
    await afterGreeting(child.stdout, ended).finally(() => clearTimeout(late));
    const channel = Duplex.from({ readable: child.stdout, writable: child.stdin });
    // The side that destroys the channel knows the reason, so its error needs no handling here.
    channel.on("error", () => {}).on("close", () => endChild(child));
    return channel;
  }

  close(): void {
    for (const child of this.#children) endChild(child);
  }
}

/** The end of its input ends the gate in the container; killing only `docker` would leave the gate running. */
function endChild(child: ChildProcessWithoutNullStreams): void {
  child.stdin.end();
  const timers = [setTimeout(() => child.kill(), END_MAX_MS), setTimeout(() => child.kill("SIGKILL"), END_MAX_MS * 2)];
  child.once("close", () => timers.forEach((timer) => clearTimeout(timer)));
}

function refused(container: string, why: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `no way into the container ${container}: ${why}`,
    `docker start ${container} (or, if there is no such stack any more: palace bridge remove)`,
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
