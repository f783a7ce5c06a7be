/** Reads the end of an agent's transcript, where its last exchange is. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isAbsolute } from "node:path";

/** Bytes read from the end of a transcript, where the last exchange is. */
const TRANSCRIPT_READ_BYTES = 2 * 1024 ** 2;

/** Reads the end of a file; empty if the path is not an absolute path of a file. */
export function readTranscriptEnd(path: string): string {
  if (!isAbsolute(path)) return "";
  try {
    // Nobody may ever write into a pipe of that name.
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
