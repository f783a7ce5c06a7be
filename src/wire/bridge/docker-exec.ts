/** Bridge into a broker's container through the user's `docker`. Each channel is a `palace gate` in the container, so no port is open. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { Duplex } from "node:stream";
import { PalaceError } from "../../base/errors.ts";
import { afterGreeting, type ConnectionEvents, inTime } from "./channel.ts";
import { GATE_COMMAND } from "./gate.ts";
import type { BridgeSettings } from "./settings.ts";

/** Commands in the container, with options of `docker exec`. Peers of the gate `agents` get the role agent, and those of `owner` admin. */
const GATES = {
  agents: { options: ["--env", `SSH_ORIGINAL_COMMAND=${GATE_COMMAND}`], command: ["palace", "gate"] },
  owner: { options: [], command: ["palace", "gate", "owner"] },
} as const;

export const NO_CONTAINER_HINT = "palace devbox up (or, if there is no such stack any more: palace bridge remove)";
const STDERR_KEPT_CHARS = 500;
/** Time to wait for the gate's greeting. The gate may have to start a broker first. */
const GATE_MAX_MS = 25_000;
/** Time that `docker` gets to exit after its input ends, before it is killed. */
const END_MAX_MS = 2_000;

/** Opens channels into a container. Emits `connected` for each channel that opens, and `down` for each that fails to open. */
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
    // Detached, so that Ctrl-C in the terminal does not kill `docker`: our process decides when the channel ends.
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
    channel.on("error", () => {}).on("close", () => endChild(child));
    return channel;
  }

  close(): void {
    for (const child of this.#children) endChild(child);
  }
}

/** Ends the gate by closing its input, because the gate would survive if only `docker` were killed. */
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
