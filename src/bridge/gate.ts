/**
 * What the host's sshd runs for a bridge's key, whatever that asks for: makes sure that a broker runs and passes bytes between
 * the channel and the broker's gate socket. A key that asks for anything else is told no; nothing of the host is said.
 */
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { readBrokerFile } from "../client/discover.ts";
import { ensureBroker } from "../client/start.ts";
import type { Config } from "../config/config.ts";
import { PalaceError } from "../protocol/errors.ts";
import { dial } from "../transport/endpoint.ts";

/** The command a bridge asks for; sshd hands it to us and runs us instead. */
export const GATE_COMMAND = "palace gate";
/** Said before the first byte of the broker: what a login shell prints before it is no part of the stream. */
export const GATE_GREETING = "\0palace-gate 1\n";

export type GateOptions = {
  config: Config;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
};

/** Resolves when either side is done. Errors: BROKER_DENIED for another wish, those of discovery and start. */
export async function runGate({ config, stdin, stdout }: GateOptions): Promise<void> {
  if (config.sshCommand !== GATE_COMMAND)
    throw new PalaceError("BROKER_DENIED", "this key opens the palace and nothing else", "");
  // Read from the start, for the end: who is gone already must not have a broker started any more.
  const waiting = stdin.pipe(new PassThrough());
  const gone = new Promise<"gone">((resolve) => {
    stdin.once("end", () => waiting.readableLength === 0 && resolve("gone"));
    stdin.on("error", () => resolve("gone"));
  });
  if ((await Promise.race([ensureBroker(config), gone])) === "gone") return;
  const socket = await dial({ kind: "unix", path: gateSocket(config) });
  stdout.write(GATE_GREETING);
  await pipeBoth(socket, waiting, stdout);
}

/** As the running broker has it: started by somebody with another runtime folder, its sockets lie there. */
export function gateSocket({ paths }: Config): string {
  return readBrokerFile(paths.brokerFile)?.gate ?? paths.gatePath;
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
