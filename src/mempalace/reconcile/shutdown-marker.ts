/** Writes and reads a clean-shutdown marker in the palace's own file. A restored older copy of the file lacks the marker. */
import { randomInt } from "node:crypto";
import Database from "better-sqlite3";
import { chromaFile, readChroma } from "../format/chroma-file.ts";
import { parseSeen } from "./last-look.ts";

const BUSY_TIMEOUT_MS = 1_000;
const MARKER_MAX = 2 ** 31 - 1;

type Kept = { read(): string | undefined; write(text: string): Promise<void> };

/**
 * Returns true if the palace has the marker of the last broker that ended cleanly. A restored older copy lacks this marker. Deletes the
 * ledger's record of the marker before any outbox entry is removed, so that a killed broker leaves no valid marker.
 */
export function consumeShutdownMarker(palaceDir: string, kept: Kept): boolean {
  const { seal: marker, ...rest } = parseSeen(kept.read()) ?? {};
  if (marker === undefined) return false;
  void kept.write(JSON.stringify(rest)).catch(() => {});
  try {
    return (
      readChroma(palaceDir, BUSY_TIMEOUT_MS, (palace) => palace.pragma("user_version", { simple: true })) === marker
    );
  } catch {
    return false;
  }
}

/** Writes a random number into a header field that Chroma does not use, and returns it; undefined if this fails. Never throws. */
export function writeShutdownMarker(palaceDir: string): number | undefined {
  const marker = randomInt(1, MARKER_MAX);
  try {
    const palace = new Database(chromaFile(palaceDir), { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    palace.pragma(`user_version = ${marker}`);
    palace.close();
    return marker;
  } catch {
    return undefined;
  }
}
