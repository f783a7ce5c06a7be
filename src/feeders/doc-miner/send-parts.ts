/** Sends a document's text, in parts if it is too long for one message. A run that is killed between parts changed nothing. */
import { randomUUID } from "node:crypto";
import type { SourceContent } from "../../protocol/filing.ts";
import { SOURCE_CALL_MAX_BYTES, SOURCE_PART_MAX } from "../../protocol/limits.ts";
import { type Caller, send } from "../send.ts";

/** Returns the text's fields for `source.replace`. Errors: those of `send`. */
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
    await send(caller, signal, "source.part", { sourceFile, sending, from, content });
    from += content.length;
  }
  return { parts: { sending, length: text.length } };
}

/** Returns the end of a part. Never splits a surrogate pair, so each part is valid text. */
function endOfPart(text: string, from: number): number {
  const end = from + SOURCE_PART_MAX;
  if (end >= text.length) return text.length;
  const isHigh = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
