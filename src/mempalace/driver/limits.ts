/** Limits of a Chroma server for one request. Quotas are checked before sending, so that one record does not fail its whole batch. */
import type { PalaceRecord } from "../../memory/port/public-palace.ts";
import { PalaceError } from "../../base/errors.ts";

/** Maximum number of records in one write. A search waits for the running write, and 1,000 records take too long (engine.md 2). */
export const LOCAL_RECORDS_MAX = 100;

/** Quotas of Chroma Cloud (docs.trychroma.com/cloud/quotas-limits, 2026-11). Most can be raised. */
export const CLOUD_LIMITS = {
  recordsMax: 300,
  resultsMax: 300,
  dimensionsMax: 4_096,
  documentSizeMaxBytes: 16_384,
  idSizeMaxBytes: 128,
  metadataKeysMax: 32,
  metadataKeySizeMaxBytes: 36,
  metadataValueSizeMaxBytes: 4_096,
} as const;

/** Maximum bytes of text and vectors in one request. The server's limit is 40 MiB of JSON, in which text may be escaped. */
const REQUEST_SIZE_MAX_BYTES = 8 * 1024 * 1024;

/** Time limits of requests, ms. `settleMs`: pause after an unanswered write, in which the server finishes or drops it. */
export type ChromaTimeouts = { readMs: number; writeMs: number; settleMs: number };
export const CHROMA_TIMEOUTS: ChromaTimeouts = { readMs: 10_000, writeMs: 30_000, settleMs: 500 };

/** Makes the error for a palace with another model's vectors, which refuses every record of ours. */
export function widthError(theirs: number, ours: number): PalaceError {
  return new PalaceError(
    "STORE_MODEL_MISMATCH",
    `the public palace holds vectors of ${theirs} numbers, our model makes ${ours}: the broker writes nothing there and keeps everything in the ledger`,
    "MEMPALACE_DRIVER=none palace restart, to leave that palace alone",
  );
}

/** Returns the reason why Chroma, or Chroma Cloud, cannot store this record; undefined if it can. */
export function objectionTo(record: PalaceRecord, cloud: boolean): string | undefined {
  if (record.id === "") return "its id is empty";
  for (const [key, value] of Object.entries(record.metadata)) {
    if ([value].flat().some((one) => typeof one === "number" && !Number.isFinite(one)))
      return `its ${key} is not a finite number`;
  }
  return cloud ? cloudObjectionTo(record) : undefined;
}

function cloudObjectionTo({ id, text, metadata, vector }: PalaceRecord): string | undefined {
  const limits = CLOUD_LIMITS;
  const entries = Object.entries(metadata);
  const tooLong = entries.find(([, value]) => sizeBytes(String(value)) > limits.metadataValueSizeMaxBytes);
  const badKey = entries.find(([key]) => sizeBytes(key) > limits.metadataKeySizeMaxBytes);
  if (sizeBytes(id) > limits.idSizeMaxBytes) return `its id is longer than ${limits.idSizeMaxBytes} bytes`;
  if (sizeBytes(text) > limits.documentSizeMaxBytes)
    return `its text is longer than ${limits.documentSizeMaxBytes} bytes`;
  if (vector.length > limits.dimensionsMax) return `its vector has more than ${limits.dimensionsMax} dimensions`;
  if (entries.length > limits.metadataKeysMax) return `it has more than ${limits.metadataKeysMax} metadata keys`;
  if (badKey) return `its metadata key ${badKey[0]} is longer than ${limits.metadataKeySizeMaxBytes} bytes`;
  if (tooLong) return `its ${tooLong[0]} is longer than ${limits.metadataValueSizeMaxBytes} bytes`;
  return undefined;
}

/** Splits a list into requests by count and size. A record that is too large gets its own request. */
export function sliceRequests(records: readonly PalaceRecord[], recordsMax: number): PalaceRecord[][] {
  const requests: PalaceRecord[][] = [];
  let current: PalaceRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = sizeBytes(record.text) + record.vector.byteLength;
    if (current.length === recordsMax || (current.length > 0 && bytes + size > REQUEST_SIZE_MAX_BYTES)) {
      requests.push(current);
      current = [];
      bytes = 0;
    }
    current.push(record);
    bytes += size;
  }
  if (current.length > 0) requests.push(current);
  return requests;
}

function sizeBytes(text: string): number {
  return Buffer.byteLength(text);
}
