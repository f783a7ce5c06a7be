/** A log file of ours: appended line by line, one older file kept beside it. A log that cannot be written stops nobody. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Of one file; with the older one beside it twice as much is kept. Several processes may write: each looks for itself. */
export const LOG_SIZE_MAX_BYTES = 8 * 1024 * 1024;
/** Bytes a process writes between two looks at the file's size. */
const LOOK_AFTER_BYTES = 64 * 1024;

export function logFile(path: string, sizeMaxBytes = LOG_SIZE_MAX_BYTES): (line: string) => void {
  let unseenBytes = LOOK_AFTER_BYTES;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch {
    // The first line will tell again.
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
      // A full disk loses log lines; writes report it themselves.
    }
  };
}
