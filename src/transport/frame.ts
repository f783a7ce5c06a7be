/**
 * Newline-delimited messages over a byte stream: only LF ends one (U+2028 does not), each is bounded in bytes and depth.
 * Used by both sides and by the shim's stdio. Imports nothing but Node's own and the limits.
 */
import { FRAME_SIZE_MAX_BYTES, JSON_DEPTH_MAX } from "../protocol/limits.ts";

const LF = 10;

/** A whole line without its LF; or the first bytes of one that was too long, whose rest is skipped up to the next LF. */
export type Frame = { bytes: Buffer } | { oversize: true; head: Buffer };

/** Holds the method and the id of any message of ours. */
const HEAD_SIZE_BYTES = 1024;

export class FrameSplitter {
  readonly #sizeMax: number;
  #parts: Buffer[] = [];
  #size = 0;
  #skipping = false;

  constructor(sizeMaxBytes = FRAME_SIZE_MAX_BYTES) {
    this.#sizeMax = sizeMaxBytes;
  }

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#skipping ? 0 : this.#size;
  }

  /** The lines that `chunk` completes, in order. Blank lines are left out. */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    for (let start = 0; start < chunk.length;) {
      const end = chunk.indexOf(LF, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      start = end === -1 ? chunk.length : end + 1;
      if (!this.#skipping && this.#size + part.length > this.#sizeMax) {
        this.#skipping = true;
        const size = Math.min(this.#size + part.length, HEAD_SIZE_BYTES);
        frames.push({ oversize: true, head: Buffer.concat([...this.#parts, part], size) });
        this.#parts = [];
      }
      if (!this.#skipping && part.length > 0) {
        this.#parts.push(part);
        this.#size += part.length;
      }
      if (end !== -1) {
        // The line's parts may have come with earlier chunks: `part` is this chunk's share, perhaps nothing.
        const [first, ...more] = this.#parts;
        if (first !== undefined) frames.push({ bytes: more.length === 0 ? first : Buffer.concat(this.#parts) });
        this.#parts = [];
        this.#size = 0;
        this.#skipping = false;
      }
    }
    return frames;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A line's content, or the reason why it has none. */
export type Decoded = { ok: true; message: unknown } | { ok: false; why: string };

export function decodeFrame(bytes: Buffer): Decoded {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { ok: false, why: "Parse error: the line is not UTF-8" };
  }
  if (text.trim() === "") return { ok: false, why: "" };
  if (isDeeper(text, JSON_DEPTH_MAX))
    return { ok: false, why: `Parse error: nested deeper than ${JSON_DEPTH_MAX} levels` };
  try {
    return { ok: true, message: JSON.parse(text) };
  } catch {
    return { ok: false, why: "Parse error: the line is not JSON" };
  }
}

/** Counts brackets outside strings, without recursion; wrong only for text that is no JSON anyway. */
export function isDeeper(json: string, depthMax: number): boolean {
  if (json.length < depthMax) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < json.length; index++) {
    const unit = json.charCodeAt(index);
    if (inString) {
      if (unit === 0x5c) index++;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x5b || unit === 0x7b) {
      if (++depth > depthMax) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return false;
}
