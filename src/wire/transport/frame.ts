/** Splits a byte stream into messages, each of which ends with LF, and decodes them. Limits their size and depth. */
import { parseAs } from "../../base/parse-json.ts";
import { FRAME_SIZE_MAX_BYTES, JSON_DEPTH_MAX } from "../../protocol/limits.ts";

const LF = 10;

/** Line without its LF, or the first and last bytes of a line that is too long. */
export type Frame = { bytes: Buffer } | { oversize: true; head: Buffer; tail: Buffer };

/** Bytes kept of a line that is too long. The head has the method. Head or tail has the id. */
const HEAD_SIZE_BYTES = 1024;
const TAIL_SIZE_BYTES = 256;

/** Splits a byte stream into lines. Keeps at most `sizeMaxBytes` in memory. */
export class FrameSplitter {
  readonly #sizeMax: number;
  readonly #returnedAt: number;
  #parts: Buffer[] = [];
  #size = 0;
  /** Line that is too long. Only its head and tail are kept. */
  #skipped: { head: Buffer; tail: Buffer; isReturned: boolean } | undefined;

  /** `returnedAtBytes`: size at which `push` returns a too long line although it has not ended, because it may never end. */
  constructor(sizeMaxBytes = FRAME_SIZE_MAX_BYTES, returnedAtBytes = sizeMaxBytes) {
    this.#sizeMax = sizeMaxBytes;
    this.#returnedAt = returnedAtBytes;
  }

  /** Number of bytes in memory of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#skipped === undefined ? this.#size : 0;
  }

  /** Returns the lines that `chunk` completes, in order, without blank lines. */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    for (let start = 0; start < chunk.length;) {
      const end = chunk.indexOf(LF, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      start = end === -1 ? chunk.length : end + 1;
      this.#size += part.length;
      if (this.#skipped !== undefined) this.#skip(this.#skipped, part);
      else if (part.length > 0) this.#parts.push(part);
      if (this.#skipped === undefined && this.#size > this.#sizeMax) {
        const head = Buffer.concat(this.#parts, Math.min(this.#size, HEAD_SIZE_BYTES));
        const ends = this.#parts.slice(-TAIL_SIZE_BYTES).map((one) => one.subarray(-TAIL_SIZE_BYTES));
        this.#skipped = { head, tail: lastOf(Buffer.concat(ends)), isReturned: false };
        this.#parts = [];
      }
      const skipped = this.#skipped;
      if (skipped !== undefined && !skipped.isReturned && (end !== -1 || this.#size > this.#returnedAt)) {
        frames.push({ oversize: true, head: skipped.head, tail: skipped.tail });
        skipped.isReturned = true;
      }
      if (end !== -1) {
        const [first, ...more] = this.#parts;
        if (first !== undefined) frames.push({ bytes: more.length === 0 ? first : Buffer.concat(this.#parts) });
        this.#parts = [];
        this.#size = 0;
        this.#skipped = undefined;
      }
    }
    return frames;
  }

  #skip(skipped: { head: Buffer; tail: Buffer }, part: Buffer): void {
    const { head, tail } = skipped;
    if (head.length < HEAD_SIZE_BYTES) skipped.head = Buffer.concat([head, part]).subarray(0, HEAD_SIZE_BYTES);
    skipped.tail = lastOf(Buffer.concat([tail, part.subarray(-TAIL_SIZE_BYTES)]));
  }
}

/** Copies the last bytes, so that the whole line can be freed. */
function lastOf(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(-TAIL_SIZE_BYTES));
}

const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,128}")`;
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const ID_FIRST = new RegExp(String.raw`^\s*\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,`);
const ID_LAST = new RegExp(String.raw`(?:,\s*${VERSION}\s*)?,\s*${ID}\s*\}\s*$`);

/** Returns the id of a too long or malformed request, or null. Python's clients write the id first, TypeScript's clients last. */
export function idOfUnread(head: Buffer, tail: Buffer): number | string | null {
  const first = head.subarray(0, HEAD_SIZE_BYTES).toString("latin1");
  const last = tail.subarray(-TAIL_SIZE_BYTES).toString("latin1");
  if (!/"method"\s*:/.test(first)) return null;
  const found = ID_FIRST.exec(first)?.[1] ?? ID_LAST.exec(last)?.[1];
  return found === undefined || !/^[\x20-\x7e]*$/.test(found) ? null : (parseAs(found, isId) ?? null);
}

/** Returns true for a string or a number, which an id may be. */
export function isId(value: unknown): value is number | string {
  return typeof value === "number" || typeof value === "string";
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Content of a line, or why the line cannot be decoded. */
export type Decoded = { ok: true; message: unknown } | { ok: false; why: string };

/** Decodes a line. For a blank line `why` is empty. Never throws. */
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

/** Returns true if the JSON is nested deeper than `depthMax`. Only counts brackets outside strings, so the text must be JSON. */
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
