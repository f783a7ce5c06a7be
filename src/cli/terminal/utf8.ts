/** Decodes text that a person typed or piped in. Only UTF-8 is accepted. */
import type { Readable } from "node:stream";
import { wrongUsage } from "../../base/errors.ts";
import { REQUEST_SIZE_MAX_BYTES } from "../../protocol/limits.ts";

/** Decodes UTF-8; refuses other encodings, because decoding would lose their letters. Errors: CONFIG_USAGE. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw wrongUsage("the text is not UTF-8; nothing was changed", "convert it: iconv -f LATIN1 -t UTF-8 FILE", cause);
  }
}

/** Reads the stream to its end. Errors: CONFIG_USAGE if it is not UTF-8, or larger than a call may be. */
export async function readUtf8(stream: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size > REQUEST_SIZE_MAX_BYTES)
      throw wrongUsage(
        `the text has more than ${Math.floor(REQUEST_SIZE_MAX_BYTES / 1e6)} MB, the limit for one call; nothing was changed`,
        "file a long text from its file: palace mine PATH",
      );
  }
  return decodeUtf8(Buffer.concat(pieces));
}
