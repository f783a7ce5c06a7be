/**
 * Sends a document's text to the broker: in the call that files it, or in parts before that call if the text is too long for one message. A
 * run that is killed between the parts has changed nothing; the next run sends the document again.
 */
import { randomUUID } from "node:crypto";
import { PalaceError } from "../../base/errors.ts";
import type { SourceContent, SourcePart } from "../../protocol/filing.ts";
import { SOURCE_CALL_MAX_BYTES, SOURCE_PART_MAX } from "../../protocol/limits.ts";
import { type Caller, send } from "../send.ts";

/** Returns the text's fields for `source.replace`. Errors: those of `send`; PROTOCOL_UNKNOWN_METHOD from a broker that accepts no parts. */
export async function sendText(
  caller: Caller,
  signal: AbortSignal,
  sourceFile: string,
  text: string,
): Promise<Pick<SourceContent, "content" | "parts">> {
  if (Buffer.byteLength(text) <= SOURCE_CALL_MAX_BYTES) return { content: text };
  const sending = randomUUID();
  for (let from = 0; from < text.length;) {
    const content = text.slice(from, endOfPart(text, from));
    await sendPart(caller, signal, { sourceFile, sending, from, content });
    from += content.length;
  }
  return { parts: { sending, length: text.length } };
}

/** Returns true for the error of an older broker, which accepts no documents in parts. */
export function isOfOlderBroker(error: unknown): error is PalaceError {
  return error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD";
}

async function sendPart(caller: Caller, signal: AbortSignal, part: SourcePart): Promise<void> {
  try {
    await send(caller, signal, "source.part", part);
  } catch (error) {
    if (!isOfOlderBroker(error)) throw error;
    const mebibytes = SOURCE_CALL_MAX_BYTES / 1024 / 1024;
    const message = `it is of an older version and takes no text of more than ${mebibytes} MiB; run \`palace restart\``;
    throw new PalaceError("PROTOCOL_UNKNOWN_METHOD", message, "palace restart", { cause: error });
  }
}

/** Returns the end of a part. Never splits a surrogate pair, so each part is valid text. */
function endOfPart(text: string, from: number): number {
  const end = from + SOURCE_PART_MAX;
  if (end >= text.length) return text.length;
  const isHigh = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
