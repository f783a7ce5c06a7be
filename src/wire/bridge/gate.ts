/** Gate: the command that sshd runs for a bridge's key, which connects the channel with the broker. Starts a broker if needed. */
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { readBrokerFile } from "../client/discover.ts";
import { ensureBroker } from "../client/start.ts";
import type { Config } from "../../config/config.ts";
import { denied } from "../../base/errors.ts";
import { dial } from "../transport/endpoint.ts";

/** Command that a bridge sends. sshd runs its forced command instead, and puts the bridge's command into SSH_ORIGINAL_COMMAND. */
export const GATE_COMMAND = "palace gate";
/** Marker before the broker's first byte. The output of a login shell may come before the marker. */
export const GATE_GREETING = "\0palace-gate 1\n";

/** Settings of the host, and streams of the channel. */
export type GateOptions = {
  config: Config;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
};

/**
 * Connects the channel with the broker's gate socket, whose peers are agents. Errors: BROKER_DENIED for another command; as ensureBroker.
 */
export async function runGate({ config, stdin, stdout }: GateOptions): Promise<void> {
  if (config.sshCommand !== GATE_COMMAND) throw denied("this key opens the palace and nothing else", "");
  await passThrough({ config, stdin, stdout }, () => gateSocket(config));
}

/** Connects `docker exec` with the broker's own socket, whose peers are admins. Errors: BROKER_DENIED over SSH; as runGate. */
export async function runOwnerGate({ config, stdin, stdout }: GateOptions): Promise<void> {
  if (config.sshCommand !== undefined) throw denied("an SSH key does not make its holder the owner", "");
  await passThrough({ config, stdin, stdout }, () => ownSocket(config));
}

async function passThrough({ config, stdin, stdout }: GateOptions, socketPath: () => string): Promise<void> {
  // Reads the input at once to notice its end, because the gate must not start a broker for a client that is gone.
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

/** Returns the gate socket in broker.json, because the broker may use another runtime folder than this process; else the usual path. */
export function gateSocket({ paths }: Config): string {
  return readBrokerFile(paths.brokerFile)?.gate ?? paths.gatePath;
}

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
