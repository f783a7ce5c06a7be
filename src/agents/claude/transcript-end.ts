/** Reads the end of an agent's transcript, where its last exchange is. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isAbsolute } from "node:path";

/** Number of bytes to read from the end of a transcript. */
const TRANSCRIPT_READ_BYTES = 2 * 1024 ** 2;

/** Reads the end of a file; returns an empty text if the path is not a file's absolute path. */
export function readTranscriptEnd(path: string): string {
  if (!isAbsolute(path)) return "";
  try {
    // Opens without waiting: a pipe of that name may never have a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(file);
      if (!stat.isFile()) return "";
      const { size } = stat;
      const bytes = Buffer.alloc(Math.min(size, TRANSCRIPT_READ_BYTES));
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
