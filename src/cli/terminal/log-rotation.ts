/** Writes a log file line by line, with one older file beside it. A failing log does not stop its process. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Maximum size of the log file, and of the older file beside it. Several processes may write to the file, and each checks its size. */
const LOG_SIZE_MAX_BYTES = 8 * 1024 * 1024;
/** Number of bytes that a process writes between two checks of the file's size. */
const LOOK_AFTER_BYTES = 64 * 1024;

export function logFile(path: string, sizeMaxBytes = LOG_SIZE_MAX_BYTES): (line: string) => void {
  let unseenBytes = LOOK_AFTER_BYTES;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch {
    // If the folder cannot be made, writing a line fails too, and that error is ignored below.
  }
  return (line) => {
    try {
      unseenBytes += Buffer.byteLength(line);
      if (unseenBytes >= LOOK_AFTER_BYTES) {
        unseenBytes = 0;
        if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= sizeMaxBytes) renameSync(path, `${path}.old`);
      }
      appendFileSync(path, line, { mode: 0o600 });
    } catch {
      // A full disk loses log lines; writes to the palace report the full disk.
    }
  };
}
