/** Parts that all channels to a remote broker share. Loads no SSH. */
import { createServer, type Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { PalaceError } from "../../base/errors.ts";
import { within } from "../../base/time-limit.ts";
import { GATE_GREETING } from "./gate.ts";

/** Time to open a channel; the host may have to start its broker first. */
const CHANNEL_TIMEOUT_MS = 30_000;
/** Maximum number of bytes that a login shell may print before the gate's greeting. */
const NOISE_MAX_BYTES = 64 * 1024;

/** Events of a connection that opens channels. `why`: the reason, one sentence for people. */
export type ConnectionEvents = { connected: []; down: [why: string] };

/**
 * Waits for a channel to open, or fails with TRANSPORT_TIMEOUT and `hint`. Gives up only this channel: other channels may work, and
 * keep-alive ends a dead connection.
 */
export async function inTime(opening: Promise<Duplex>, hint: string): Promise<Duplex> {
  const channel = await within(opening, CHANNEL_TIMEOUT_MS);
  if (channel !== undefined) return channel;
  void opening.then((late) => late.destroy()).catch(() => {});
  const seconds = CHANNEL_TIMEOUT_MS / 1000;
  throw new PalaceError("TRANSPORT_TIMEOUT", `the host accepts our key but opens no channel within ${seconds} s`, hint);
}

/** Reads the gate's greeting and returns the paused stream. Rejects with `ended()` if the stream closes earlier or prints too much. */
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

/** Local server with one channel for each connection. */
export type ChannelServer = { locals: ReadonlySet<Socket>; close: () => void };

/**
 * Listens at `path`. Connects each client with the channel that `open` returns, in both directions. When one side ends, the other ends,
 * too. An error of `open` ends the connection. Errors: system errors.
 */
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
