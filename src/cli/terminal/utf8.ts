/** Decodes a text from a person. Imported by the editor and by the verbs that read stdin. */
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { PalaceError } from "../../base/errors.ts";

/** Decodes UTF-8; refuses other encodings, because decoding would lose their letters. Errors: CONFIG_USAGE. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new PalaceError(
      "CONFIG_USAGE",
      "the text is not UTF-8; nothing was changed",
      "convert it: iconv -f LATIN1 -t UTF-8 FILE",
      { cause },
    );
  }
}

/** Reads the stream to its end. Errors: CONFIG_USAGE if it is not UTF-8. */
export async function readUtf8(stream: Readable): Promise<string> {
  return decodeUtf8(await buffer(stream));
}
