/** A log file of ours: appended line by line, one older file kept. A log that cannot be written stops nobody. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const SIZE_MAX_BYTES = 8 * 1024 * 1024;

export function logFile(path: string): (line: string) => void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > SIZE_MAX_BYTES) renameSync(path, `${path}.old`);
  } catch {
    // The first line will tell again.
  }
  return (line) => {
    try {
      appendFileSync(path, line, { mode: 0o600 });
    } catch {
      // A full disk loses log lines; writes report it themselves.
    }
  };
}
