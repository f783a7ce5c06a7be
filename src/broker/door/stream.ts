/**
 * One upgraded connection: newline-delimited JSON-RPC of one peer. Requests are answered as they finish; a peer that does
 * not read its answers is not read from, and after a while disconnected, so that memory stays flat.
 */
import type { Socket } from "node:net";
import type { Log } from "../../platform/log.ts";
import { PalaceError } from "../../protocol/errors.ts";
import {
  FRAME_SIZE_MAX_BYTES,
  PEER_IN_FLIGHT_MAX_BYTES,
  PEER_IN_FLIGHT_MAX,
  PEER_STALL_MAX_MS,
  PEER_UNREAD_MAX_BYTES,
} from "../../protocol/limits.ts";
import { RPC, type RpcNotification, type RpcResponse } from "../../protocol/spec.ts";
import { decodeFrame, type Frame, FrameSplitter } from "../../transport/frame.ts";
import type { Dispatch, Notify } from "../engine.ts";
import { type Peer, peerFields } from "../peer.ts";

/** How often a silent client with open requests is looked after. */
const PROBE_MS = 1_000;

export type StreamOptions = { socket: Socket; head: Buffer; peer: Peer; dispatch: Dispatch; log: Log };

export type Stream = {
  /** Lets requests under way be answered, then ends the connection. */
  end(): Promise<void>;
};

export function serveStream({ socket, head, peer, dispatch, log }: StreamOptions): Stream {
  const splitter = new FrameSplitter();
  const waiting: Frame[] = [];
  let inFlight = 0;
  let stall: NodeJS.Timeout | undefined;
  let inFlightBytes = 0;
  /** Somebody waits for the last answer. */
  let quiet: PromiseWithResolvers<void> | undefined;

  const send = (response: RpcResponse | RpcNotification): void => {
    if (!socket.writable) return;
    socket.write(`${JSON.stringify(response)}\n`);
    if (socket.writableLength <= PEER_UNREAD_MAX_BYTES || stall !== undefined) return;
    stall = setTimeout(() => {
      log.warn("peer does not read its answers", peerFields(peer));
      socket.destroy();
    }, PEER_STALL_MAX_MS);
  };

  /** What nobody asked for is not kept for a peer that does not read. */
  const notify: Notify = (method, params) => {
    if (stall === undefined) send({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  };

  const isFull = (): boolean =>
    inFlight >= PEER_IN_FLIGHT_MAX || inFlightBytes > PEER_IN_FLIGHT_MAX_BYTES || stall !== undefined;

  const answer = async (frame: Frame): Promise<void> => {
    if ("oversize" in frame) {
      const error = new PalaceError(
        "TRANSPORT_FRAME_TOO_LARGE",
        `a message may have ${FRAME_SIZE_MAX_BYTES} bytes`,
        "send less at once",
      );
      send({
        jsonrpc: "2.0",
        id: null,
        error: { code: RPC.INVALID_REQUEST, message: error.message, data: error.toWire() },
      });
      socket.end();
      return;
    }
    const decoded = decodeFrame(frame.bytes);
    if (!decoded.ok) {
      if (decoded.why === "") return;
      const error = new PalaceError("PROTOCOL_BAD_FRAME", decoded.why, "send one JSON-RPC message a line");
      send({
        jsonrpc: "2.0",
        id: null,
        error: { code: RPC.PARSE_ERROR, message: error.message, data: error.toWire() },
      });
      return;
    }
    const response = await dispatch(peer, decoded.message, frame.bytes.length, notify);
    if (response !== undefined) send(response);
  };

  const pump = (): void => {
    while (waiting.length > 0 && !isFull()) {
      const frame = waiting.shift();
      if (frame === undefined) break;
      const sizeBytes = "bytes" in frame ? frame.bytes.length : 0;
      inFlight += 1;
      inFlightBytes += sizeBytes;
      void answer(frame).finally(() => {
        inFlight -= 1;
        inFlightBytes -= sizeBytes;
        if (inFlight === 0) quiet?.resolve();
        pump();
      });
    }
    if (waiting.length > 0) socket.pause();
    else if (!isFull()) socket.resume();
  };

  const onData = (chunk: Buffer): void => {
    waiting.push(...splitter.push(chunk));
    pump();
  };
  socket.on("data", onData);
  socket.on("drain", () => {
    clearTimeout(stall);
    stall = undefined;
    pump();
  });
  socket.on("error", () => {});
  // A client that has said all it wants to say still gets its answers. One that is gone altogether looks the same until
  // something is written to it; an empty line says nothing.
  let probe: NodeJS.Timeout | undefined;
  socket.on("end", () => {
    if (inFlight > 0) {
      socket.write("\n");
      probe = setInterval(() => socket.write("\n"), PROBE_MS);
    }
    void end();
  });
  socket.on("close", () => {
    clearTimeout(stall);
    clearInterval(probe);
    waiting.length = 0;
    quiet?.resolve();
  });
  const end = async (): Promise<void> => {
    if (inFlight > 0) await (quiet = Promise.withResolvers()).promise;
    clearInterval(probe);
    socket.end();
  };
  if (head.length > 0) onData(head);

  return { end };
}
