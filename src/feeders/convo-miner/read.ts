/** Reads one transcript file. If the file has only grown since the last run, reads only its new lines. */
import { createHash, type Hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { basename, extname } from "node:path";
import { decodeText, type Decoded, utf16Of } from "../decode.ts";
import { isWhole, lines, pieces } from "../lines.ts";
import { conversationsOfText, LineScan, type ScanState } from "./normalize.ts";
import type { SlackNames } from "./slack.ts";
import type { Conversation } from "./transcript.ts";

/** Maximum size of a transcript, as in upstream; larger ones are skipped. */
export const TRANSCRIPT_SIZE_MAX_BYTES = 500 * 1024 * 1024;
/** Minimum size for a checkpoint; reading a smaller file again is faster. */
export const RESUME_SIZE_MIN_BYTES = 256 * 1024;

/** Position after a whole line, from which a later run continues. Only files in which a conversation was found have a checkpoint. */
export type Checkpoint = {
  schema: 2;
  offset: number;
  /** SHA-256 of the bytes before `offset`. */
  prefixSha256: string;
  state: ScanState;
};

export type ReadOptions = {
  earlier?: Checkpoint | undefined;
  resumeSizeMin: number;
  names?: SlackNames | undefined;
};

export type Reading = {
  conversations: Conversation[];
  /** Newest `timestamp` in a .jsonl file; undefined for other files. */
  authoredAt: string | undefined;
  /** Time of the last change, s. It is read before the content, so that the next run notices a later change. */
  mtime: number;
  size: number;
  /** Number of characters that could not be decoded; absent for none. */
  lost?: number;
  checkpoint: Checkpoint | undefined;
  /** Number of bytes at the beginning that were not parsed again, because an earlier run had read them. */
  resumedAt: number;
};

/** Returns the reason as a string if the file cannot be filed. Errors: the file system's. */
export function readTranscript(path: string, options: ReadOptions): Reading | string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file, { bigint: true });
    const size = Number(stat.size);
    if (!stat.isFile()) return "not a regular file";
    if (size > TRANSCRIPT_SIZE_MAX_BYTES) return "larger than 500 MiB";
    const named = { mtime: seconds(stat.mtimeNs), size };
    const isJson = [".json", ".jsonl"].includes(extname(path).toLowerCase());
    const keepTime = extname(path) === ".jsonl";
    const head = headOf(file);
    const isByLines = isJson || mayBeJson(decodeText(head).text);
    const isUtf16 = utf16Of(head) !== undefined;
    const read = !isByLines ? undefined : isUtf16 ? readUtf16(file) : readLines(file, options);
    if (read !== undefined && !read.scan.isPlain) {
      const authoredAt = keepTime ? read.scan.authoredAt : undefined;
      const found = read.scan.result();
      const { checkpoint, resumedAt } = read;
      if (found !== undefined)
        return { conversations: [found.conversation], authoredAt, ...named, checkpoint, resumedAt };
      if (read.scan.agent !== undefined) return `a ${read.scan.agent} session without a conversation`;
    }
    const isDocument = read !== undefined && !read.scan.isPlain;
    const { text, lost } = readWhole(file);
    const conversations = conversationsOfText(text.replace(/\r\n?/g, "\n"), {
      ...{ mayBeJson: isDocument, name: basename(path), names: options.names ?? new Map() },
    });
    if (typeof conversations === "string") return conversations;
    const authoredAt = keepTime ? read?.scan.authoredAt : undefined;
    return { conversations, authoredAt, ...named, ...(lost > 0 && { lost }), checkpoint: undefined, resumedAt: 0 };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_STRING_TOO_LONG") return "larger than a text can be";
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Converts to seconds exactly as Python's os.stat does, because upstream compares the result with the time in its drawers. */
function seconds(ns: bigint): number {
  return Number(ns / 1_000_000_000n) + 1e-9 * Number(ns % 1_000_000_000n);
}

type Lines = { scan: LineScan; checkpoint: Checkpoint | undefined; resumedAt: number };

function readLines(file: number, { earlier, resumeSizeMin }: ReadOptions): Lines {
  const prefix = earlier === undefined ? undefined : hashPrefix(file, earlier);
  const resumed = prefix === undefined ? undefined : earlier;
  const hash = prefix ?? createHash("sha256");
  const start = resumed?.offset ?? 0;
  const scan = new LineScan(resumed?.state);
  let offset = start;
  let rest: Buffer | undefined;
  for (const line of lines(file, start)) {
    if (!isWhole(line)) {
      rest = line;
      break;
    }
    hash.update(line);
    scan.take(line.toString("utf8"));
    offset += line.length;
  }
  const checkpoint = offset < resumeSizeMin ? undefined : checkpointOf(scan, offset, hash);
  // The last line may be incomplete. It counts if it parses, and the next run reads it again when it is whole.
  if (rest !== undefined) scan.take(rest.toString("utf8"));
  return { scan, checkpoint, resumedAt: start };
}

function checkpointOf(scan: LineScan, offset: number, hash: Hash): Checkpoint | undefined {
  if (scan.isPlain || scan.result() === undefined) return undefined;
  return { schema: 2, offset, prefixSha256: hash.copy().digest("hex"), state: scan.state() };
}

/** Returns the running hash of the bytes that an earlier run read; undefined if the file has other bytes there. */
function hashPrefix(file: number, { offset, prefixSha256 }: Checkpoint): Hash | undefined {
  const hash = createHash("sha256");
  let left = offset;
  for (const bytes of pieces(file, 0)) {
    const part = bytes.subarray(0, left);
    hash.update(part);
    left -= part.length;
    if (left === 0) return hash.copy().digest("hex") === prefixSha256 ? hash : undefined;
  }
  return undefined;
}

/** Reads a UTF-16 file as a whole, because `lines` splits bytes, and a line feed has two bytes in UTF-16. */
function readUtf16(file: number): Lines {
  const scan = new LineScan();
  for (const line of readWhole(file).text.split("\n")) scan.take(line);
  return { scan, checkpoint: undefined, resumedAt: 0 };
}

/** Reads the file up to the size limit, because it may have grown since the check. */
function readWhole(file: number): Decoded {
  return decodeText(readFileSync(file).subarray(0, TRANSCRIPT_SIZE_MAX_BYTES));
}

function headOf(file: number): Buffer {
  const buffer = Buffer.alloc(4096);
  return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
}

function mayBeJson(text: string): boolean {
  return /^[{[]/.test(text.trimStart());
}
