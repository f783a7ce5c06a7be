/** Opens channels to a remote broker, and serves them on a local socket. */
import { createServer, type Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { PalaceError } from "../../base/errors.ts";
import { within } from "../../base/time-limit.ts";
import { GATE_GREETING } from "./gate.ts";

/** Time to open a channel. The host may have to start its broker first. */
const CHANNEL_TIMEOUT_MS = 30_000;
/** Maximum number of bytes that a login shell may print before the gate's greeting. */
const NOISE_MAX_BYTES = 64 * 1024;

/** Events of a connection that opens channels. `why`: one sentence for people. */
export type ConnectionEvents = { connected: []; down: [why: string] };

/** Waits for a channel to open. Does not end the connection, whose other channels may work. Errors: TRANSPORT_TIMEOUT with `hint`. */
export async function inTime(opening: Promise<Duplex>, hint: string): Promise<Duplex> {
  const channel = await within(opening, CHANNEL_TIMEOUT_MS);
  if (channel !== undefined) return channel;
  void opening.then((late) => late.destroy()).catch(() => {});
  const seconds = CHANNEL_TIMEOUT_MS / 1000;
  throw new PalaceError("TRANSPORT_TIMEOUT", `the host accepts our key but opens no channel within ${seconds} s`, hint);
}

/** Reads up to the gate's greeting and pauses the stream. Rejects with `ended()` if the stream closes or prints too much before that. */
export function afterGreeting<Stream extends Readable>(stream: Stream, ended: () => PalaceError): Promise<Stream> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const onClose = (): void => reject(ended());
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const at = seen.indexOf(GATE_GREETING);
      if (at === -1 && seen.length > NOISE_MAX_BYTES) stream.destroy();
      if (at === -1) return;
      stream.off("data", onData).off("close", onClose).pause();
      const rest = seen.subarray(at + GATE_GREETING.length);
      if (rest.length > 0) stream.unshift(rest);
      resolve(stream);
    };
    stream.on("data", onData).on("close", onClose);
  });
}

/** Local server that opens a channel for each connection. `locals`: the open connections. */
export type ChannelServer = { locals: ReadonlySet<Socket>; close: () => void };

/** Listens at `path` and connects each client with a channel from `open`. A client and its channel end together. Errors: system errors. */
export async function serveChannels(
  path: string,
  open: () => Promise<Duplex>,
  onClose: () => void = () => {},
): Promise<ChannelServer> {
  const locals = new Set<Socket>();
  const serve = async (local: Socket): Promise<void> => {
    locals.add(local);
    local.on("error", () => {}).on("close", () => void (locals.delete(local), onClose()));
    local.pause();
    const channel = await open().catch(() => undefined);
    if (channel === undefined) return void local.destroy();
    if (local.destroyed) return void channel.destroy();
    channel.on("error", () => local.destroy()).on("close", () => local.destroy());
    local.on("close", () => channel.destroy());
    local.pipe(channel);
    channel.pipe(local);
  };
  const server = createServer((local) => void serve(local));
  await new Promise<void>((resolve, reject) => void server.once("error", reject).listen({ path }, resolve));
  const close = (): void => {
    server.close();
    for (const local of locals) local.destroy();
  };
  return { locals, close };
}
