/** Parses and applies rows of embeddings_queue, Chroma's write-ahead log (palace.md 4.4). */
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { toFloats } from "../../memory/ledger/record.ts";
import type { Metadata, MetadataValue } from "../../memory/port/drawer.ts";

export const OPERATION = { add: 0, update: 1, upsert: 2, delete: 3 } as const;
export const DOCUMENT_KEY = "chroma:document";

export type QueueRow = {
  seq: number;
  operation: unknown;
  id: unknown;
  vector: unknown;
  encoding: unknown;
  metadata: unknown;
};

export type QueueRecord = {
  seq: number;
  operation: number;
  id: string;
  /** Undefined if the record does not change the vector. */
  vector: Float32Array | undefined;
  /** Keys to set. A null removes the key. */
  metadata: Record<string, MetadataValue | null>;
};

/** Returns undefined for a record that Chroma could not have written. Never throws. */
export function parseQueueRow(row: QueueRow): QueueRecord | undefined {
  const { seq, operation, id } = row;
  if (typeof id !== "string" || ![0, 1, 2, 3].includes(operation as number)) return undefined;
  const vector = vectorOf(row.vector, row.encoding);
  const metadata = metadataOf(row.metadata);
  if (vector === "bad" || metadata === undefined) return undefined;
  return { seq, operation: operation as number, id, vector, metadata };
}

export type RowState = { text: string; metadata: Metadata };

/** Returns a row's state after the record is applied; undefined if the row is then deleted or does not exist. */
export function applyRecord(row: RowState | undefined, record: QueueRecord): RowState | undefined {
  const { operation } = record;
  if (operation === OPERATION.delete) return undefined;
  if (operation === OPERATION.add && row !== undefined) return row;
  if (operation === OPERATION.update && row === undefined) return undefined;
  const next: RowState = { text: row?.text ?? "", metadata: { ...row?.metadata } };
  for (const [key, value] of Object.entries(record.metadata)) {
    if (key === DOCUMENT_KEY) next.text = typeof value === "string" ? value : "";
    else if (value === null) delete next.metadata[key];
    else setKey(next.metadata, key, value);
  }
  return next;
}

/** Sets a key. An assignment would misread the key `__proto__`, which foreign metadata may have. */
export function setKey(metadata: Metadata, key: string, value: MetadataValue): void {
  Object.defineProperty(metadata, key, { value, writable: true, enumerable: true, configurable: true });
}

function vectorOf(blob: unknown, encoding: unknown): Float32Array | undefined | "bad" {
  if (blob === null || blob === undefined) return undefined;
  if (!Buffer.isBuffer(blob) || encoding !== "FLOAT32" || blob.length === 0 || blob.length % 4 !== 0) return "bad";
  return toFloats(blob);
}

function isScalar(value: unknown): boolean {
  return Number.isFinite(value) || typeof value === "string" || typeof value === "boolean";
}

function metadataOf(text: unknown): QueueRecord["metadata"] | undefined {
  if (text === null || text === undefined) return {};
  if (typeof text !== "string") return undefined;
  const value = parseJson(text);
  if (value === null) return {};
  if (!isRecord(value)) return undefined;
  const metadata: QueueRecord["metadata"] = Object.create(null) as QueueRecord["metadata"];
  for (const [key, one] of Object.entries(value)) {
    // Drops values that Chroma never writes and that cannot be stored.
    const isKept = one === null || (Array.isArray(one) ? one.length > 0 && one.every(isScalar) : isScalar(one));
    if (isKept) metadata[key] = one as string;
  }
  return metadata;
}
