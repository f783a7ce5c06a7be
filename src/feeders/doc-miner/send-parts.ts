/** Sends a document's text to the broker, in parts if it is too long for one message. The palace changes only after the last part. */
import { randomUUID } from "node:crypto";
import type { SourceContent } from "../../protocol/filing.ts";
import { SOURCE_CALL_MAX_BYTES, SOURCE_PART_MAX } from "../../protocol/limits.ts";
import { type Caller, send } from "../send.ts";

/** Returns the fields for `source.replace`: the text itself, or a reference to the sent parts. Errors: those of `send`. */
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

/** Returns the end of a part, which is never within a surrogate pair. */
function endOfPart(text: string, from: number): number {
  const end = from + SOURCE_PART_MAX;
  if (end >= text.length) return text.length;
  const isHigh = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHigh ? end - 1 : end;
}
