/** Reads a request's body with the limits of a message on a stream: number of bytes, depth of the JSON, valid UTF-8. */
import type { IncomingMessage } from "node:http";
import { PalaceError } from "../../base/errors.ts";
import { FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { decodeFrame } from "../../wire/transport/frame.ts";
import { type Peer, peerFields } from "../peer.ts";
import type { HeldBytes, Holder } from "./held.ts";

/** Maximum time to read an unwanted body, and time that a refused peer gets to read the reason, ms. */
export const REFUSED_MAX_MS = 2_000;

export type RefusedBody = { status: 400 | 413; error: PalaceError };

/** Returns undefined if the peer disconnected; `message` is undefined for an empty body. After a 413 the body may be partly unread. */
export async function readBody(
  request: IncomingMessage,
  hint: string,
  { peer, unfinished, maxBytes = FRAME_SIZE_MAX_BYTES }: { peer: Peer; unfinished: HeldBytes; maxBytes?: number },
): Promise<{ message: unknown; sizeBytes: number } | RefusedBody | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  const holder: Holder = { about: peerFields(peer), cut: () => request.destroy() };
  try {
    // Leaving the loop must not close the connection, because the refusal still uses it.
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      parts.push(part);
      size += part.length;
      if (size > maxBytes) break;
      unfinished.set(holder, size, true);
    }
  } catch {
    return undefined;
  } finally {
    unfinished.set(holder, 0, true);
  }
  if (size > maxBytes) {
    // Frees the parts that were read, because reading the rest may take a while.
    parts.length = 0;
    await skipBody(request);
    const why = `a message may have ${maxBytes} bytes`;
    return { status: 413, error: new PalaceError("TRANSPORT_FRAME_TOO_LARGE", why, "send less at once") };
  }
  const decoded = decodeFrame(Buffer.concat(parts));
  if (decoded.ok) return { message: decoded.message, sizeBytes: size };
  if (decoded.why === "") return { message: undefined, sizeBytes: size };
  return { status: 400, error: new PalaceError("PROTOCOL_BAD_FRAME", decoded.why, hint) };
}

/** Reads an unwanted body: closing a connection with unread bytes resets it, and the client may lose the answer. */
export async function skipBody(request: IncomingMessage): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const timer = setTimeout(end, REFUSED_MAX_MS);
  let leftBytes = FRAME_SIZE_MAX_BYTES;
  request.on("data", ({ length }: Buffer) => {
    leftBytes -= length;
    if (leftBytes < 0) end();
  });
  request.once("end", end).once("error", end).once("close", end);
  await ended;
  clearTimeout(timer);
}
