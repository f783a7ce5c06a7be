/**
 * Bridge into a container with a broker, through the user's `docker`. Each channel is a `palace gate` in the container, so no port is
 * opened. The agents' gate leads to the broker's gate socket, as a bridge's key does. The owner's gate leads to the broker's own socket,
 * where the kernel identifies the peer.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { Duplex } from "node:stream";
import { PalaceError } from "../../base/errors.ts";
import { afterGreeting, type ConnectionEvents, inTime } from "./channel.ts";
import { GATE_COMMAND } from "./gate.ts";
import type { BridgeSettings } from "./settings.ts";

/** Commands in the container, with their options of `docker exec`. */
const GATES = {
  agents: { options: ["--env", `SSH_ORIGINAL_COMMAND=${GATE_COMMAND}`], command: ["palace", "gate"] },
  owner: { options: [], command: ["palace", "gate", "owner"] },
} as const;

/** Hint for a missing container: `palace devbox down` removes it, and `palace devbox up` makes it again. */
export const NO_CONTAINER_HINT = "palace devbox up (or, if there is no such stack any more: palace bridge remove)";
const STDERR_KEPT_CHARS = 500;
/** Time to wait for the gate's greeting; the gate may have to start a broker first. */
const GATE_MAX_MS = 25_000;
/** Time that `docker` has to exit after its input ends, before it is killed. */
const END_MAX_MS = 2_000;

/** Opens channels into one container. Emits `connected` and `down` for each channel that opens or fails. */
export class DockerExec extends EventEmitter<ConnectionEvents> {
  readonly #settings: BridgeSettings;
  readonly #gate: keyof typeof GATES;
  readonly #children = new Set<ChildProcessWithoutNullStreams>();

  constructor(settings: BridgeSettings, gate: keyof typeof GATES = "agents") {
    super();
    this.#settings = settings;
    this.#gate = gate;
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
    const { options, command } = GATES[this.#gate];
    const gate = [...dockerOptions, "exec", "--interactive", ...options, container, ...command];
    // Detached, because a Ctrl-C in the terminal must reach only our process, which decides about the channel.
    const child = spawn("docker", gate, { stdio: "pipe", detached: true });
    this.#children.add(child);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_KEPT_CHARS)));
    child.stdin.on("error", () => {});
    child.on("error", (error) => (said = error.message)).on("close", () => this.#children.delete(child));
    const late = setTimeout(() => endChild(child), GATE_MAX_MS);
    const ended = (): PalaceError => refused(container, said.trim().split("\n").at(-1) || "its gate ended");
    await afterGreeting(child.stdout, ended).finally(() => clearTimeout(late));
    const channel = Duplex.from({ readable: child.stdout, writable: child.stdin });
    // The side that destroys the channel knows why, so this error needs no handling.
    channel.on("error", () => {}).on("close", () => endChild(child));
    return channel;
  }

  close(): void {
    for (const child of this.#children) endChild(child);
  }
}

/** Ends the gate in the container by ending its input; killing only `docker` would leave the gate running. */
function endChild(child: ChildProcessWithoutNullStreams): void {
  child.stdin.end();
  const timers = [setTimeout(() => child.kill(), END_MAX_MS), setTimeout(() => child.kill("SIGKILL"), END_MAX_MS * 2)];
  child.once("close", () => timers.forEach((timer) => clearTimeout(timer)));
}

function refused(container: string, why: string): PalaceError {
  if (/is not running$/.test(why))
    return new PalaceError("TRANSPORT_REFUSED", `the broker's container ${container} is stopped`, "palace start");
  return new PalaceError(
    "TRANSPORT_REFUSED",
    `the container ${container} cannot be reached: ${why}`,
    NO_CONTAINER_HINT,
  );
}
