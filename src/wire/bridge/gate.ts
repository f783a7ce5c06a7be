/**
 * The gate runs on the host for a bridge's key. It makes sure that a broker runs, and passes bytes between the channel and the broker's
 * gate socket. A key that asks for any other command is refused and learns nothing about the host.
 */
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { readBrokerFile } from "../client/discover.ts";
import { ensureBroker } from "../client/start.ts";
import type { Config } from "../../config/config.ts";
import { denied } from "../../base/errors.ts";
import { dial } from "../transport/endpoint.ts";

/** Command that a bridge asks for. sshd runs its forced command, this gate, and puts the bridge's command into SSH_ORIGINAL_COMMAND. */
export const GATE_COMMAND = "palace gate";
/** Marker before the broker's first byte. Output of a login shell may come before the marker and is not part of the stream. */
export const GATE_GREETING = "\0palace-gate 1\n";

/** Streams of the gate, and the settings of its host. */
export type GateOptions = {
  config: Config;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
};

/** Resolves when either side ends. Errors: BROKER_DENIED for another command; the errors of discovery and start. */
export async function runGate({ config, stdin, stdout }: GateOptions): Promise<void> {
  if (config.sshCommand !== GATE_COMMAND) throw denied("this key opens the palace and nothing else", "");
  await passThrough({ config, stdin, stdout }, () => gateSocket(config));
}

/**
 * Passes bytes to the broker's own socket, where the kernel tells the broker the user of this process. Only a user of Docker can start this
 * gate, with `docker exec`. A command that came over SSH is refused. Errors: as runGate.
 */
export async function runOwnerGate({ config, stdin, stdout }: GateOptions): Promise<void> {
  if (config.sshCommand !== undefined) throw denied("an SSH key does not make its holder the owner", "");
  await passThrough({ config, stdin, stdout }, () => ownSocket(config));
}

async function passThrough({ config, stdin, stdout }: GateOptions, socketPath: () => string): Promise<void> {
  // Reads at once to notice the end of the input: the gate must not start a broker for a client that is gone.
  const waiting = stdin.pipe(new PassThrough());
  const gone = new Promise<"gone">((resolve) => {
    stdin.once("end", () => waiting.readableLength === 0 && resolve("gone"));
    stdin.on("error", () => resolve("gone"));
  });
  if ((await Promise.race([ensureBroker(config), gone])) === "gone") return;
  const socket = await dial({ kind: "unix", path: socketPath() });
  stdout.write(GATE_GREETING);
  await pipeBoth(socket, waiting, stdout);
}

/** Returns the running broker's gate socket. A broker may have another runtime folder, with its sockets in it. */
export function gateSocket({ paths }: Config): string {
  return readBrokerFile(paths.brokerFile)?.gate ?? paths.gatePath;
}

/** Returns the socket in the running broker's broker.json, else the usual path of that socket. */
function ownSocket({ paths }: Config): string {
  const door = readBrokerFile(paths.brokerFile)?.doors.find(({ kind }) => kind === "unix");
  return door?.kind === "unix" ? door.path : paths.socketPath;
}

function pipeBoth(socket: Socket, stdin: NodeJS.ReadableStream, stdout: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => {}).on("close", resolve);
    stdout.on("error", () => socket.destroy());
    stdin.on("error", () => socket.destroy());
    stdin.pipe(socket);
    socket.pipe(stdout, { end: false });
  });
}
