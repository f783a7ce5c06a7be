/**
 * Reads the vectors of a persisted index (hnswlib's files as Chroma writes them) without Chroma. The flush that writes them is
 * not atomic, so a kill leaves them half new: what does not fit together is told as torn, never guessed at.
 * Imported by palace-file.ts and tests.
 *
 * Source: palace.md 4.5, checked against files of 1.5.9: a slot is 4 bytes of links' count and marks (third byte, bit 0: deleted),
 * the links, the vector, the label; the pickle says which id has which label.
 */
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type PickleDict, PickleError, readPickle } from "./pickle.ts";

export type Segment =
  /** Chroma has never flushed: every vector stands in the queue. */
  { state: "absent" } | { state: "torn"; why: string } | WholeSegment;

export type WholeSegment = {
  state: "whole";
  dimensions: number;
  ids: ReadonlySet<string>;
  /** Shape: Float32Array[dimensions], as stored: normalised where the space is cosine. Undefined for an id it has not. */
  vector(id: string): Float32Array | undefined;
  /** Where in data_level0.bin the vector begins, bytes. */
  position(id: string): number | undefined;
  close(): void;
};

const HEADER_SIZE_BYTES = 100;
/** header.bin, little end first. */
const AT = { version: 0, offset: 4, capacity: 12, elements: 20, elementSize: 28, labelAt: 36, vectorAt: 44 } as const;
const LABEL_SIZE_BYTES = 8;
/** Third byte of a slot: bit 0 = deleted. */
const MARKS_AT = 2;
const SCAN_SIZE_BYTES = 4 * 1024 * 1024;
const DIMENSIONS_MAX = 65_536;
const PICKLE_SIZE_MAX_BYTES = 1024 * 1024 * 1024;

class Torn extends Error {}

/** Errors: none; what cannot be read is torn. The caller closes a whole one. */
export function openSegment(folder: string): Segment {
  let fd: number | undefined;
  try {
    const pickle = sizeOf(join(folder, "index_metadata.pickle"));
    if (pickle === undefined) return { state: "absent" };
    if (pickle > PICKLE_SIZE_MAX_BYTES) throw new Torn("index_metadata.pickle is larger than any index");
    const labels = labelsOf(readFileSync(join(folder, "index_metadata.pickle")));
    const header = headerOf(readFileSync(join(folder, "header.bin")));
    const file = join(folder, "data_level0.bin");
    const size = sizeOf(file) ?? 0;
    if (size < header.elements * header.elementSize) throw new Torn("data_level0.bin is shorter than its header says");
    fd = openSync(file, "r");
    return whole(fd, header, labels);
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    return { state: "torn", why: (error as Error).message };
  }
}

type Header = { elements: number; elementSize: number; labelAt: number; vectorAt: number; dimensions: number };

/** Exported for the fuzz test. Errors: any Error: torn. */
export function headerOf(bytes: Buffer): Header {
  if (bytes.length !== HEADER_SIZE_BYTES) throw new Torn("header.bin has not 100 bytes");
  const number = (at: number): number => Number(bytes.readBigUInt64LE(at));
  if (bytes.readInt32LE(AT.version) !== 1) throw new Torn("header.bin is of another version");
  const [capacity, elements, elementSize] = [number(AT.capacity), number(AT.elements), number(AT.elementSize)];
  const [labelAt, vectorAt] = [number(AT.labelAt), number(AT.vectorAt)];
  const vectorSize = labelAt - vectorAt;
  const fits =
    number(AT.offset) === 0 &&
    elements <= capacity &&
    vectorAt > MARKS_AT &&
    vectorSize > 0 &&
    vectorSize % 4 === 0 &&
    vectorSize / 4 <= DIMENSIONS_MAX &&
    elementSize === labelAt + LABEL_SIZE_BYTES &&
    elements * elementSize < Number.MAX_SAFE_INTEGER;
  if (!fits) throw new Torn("header.bin contradicts itself");
  return { elements, elementSize, labelAt, vectorAt, dimensions: vectorSize / 4 };
}

/** Id → label. Exported for the fuzz test. Errors: any Error: torn. */
export function labelsOf(pickle: Buffer): Map<string, number> {
  const root = readPickle(pickle);
  const labels = dict(root).get("id_to_label");
  const known = new Map<string, number>();
  for (const [id, label] of dict(labels)) {
    if (typeof id !== "string" || typeof label !== "number" || !Number.isInteger(label) || label < 0)
      throw new Torn("index_metadata.pickle holds what is no label");
    known.set(id, label);
  }
  return known;
}

function whole(fd: number, header: Header, labels: ReadonlyMap<string, number>): WholeSegment {
  const slots = slotsOf(fd, header);
  const slotById = new Map<string, number>();
  for (const [id, label] of labels) {
    const slot = slots.get(label);
    if (slot === undefined) throw new Torn(`data_level0.bin has no vector of ${id}`);
    slotById.set(id, slot);
  }
  const { elementSize, vectorAt, dimensions } = header;
  return {
    state: "whole",
    dimensions,
    ids: new Set(slotById.keys()),
    vector(id) {
      const slot = slotById.get(id);
      if (slot === undefined) return undefined;
      const vector = new Float32Array(dimensions);
      const bytes = Buffer.from(vector.buffer);
      return readSync(fd, bytes, 0, bytes.length, slot * elementSize + vectorAt) === bytes.length ? vector : undefined;
    },
    position(id) {
      const slot = slotById.get(id);
      return slot === undefined ? undefined : slot * elementSize + vectorAt;
    },
    close: () => closeSync(fd),
  };
}

/** Label → slot of every element that is not deleted, read once from end to end. */
function slotsOf(fd: number, { elements, elementSize, labelAt }: Header): Map<number, number> {
  const slots = new Map<number, number>();
  const perScan = Math.max(1, Math.floor(SCAN_SIZE_BYTES / elementSize));
  const bytes = Buffer.alloc(Math.min(elements, perScan) * elementSize);
  for (let first = 0; first < elements; first += perScan) {
    const count = Math.min(perScan, elements - first);
    const length = count * elementSize;
    if (readSync(fd, bytes, 0, length, first * elementSize) < length) throw new Torn("data_level0.bin is cut off");
    for (let at = 0; at < count; at++) {
      const start = at * elementSize;
      if (((bytes[start + MARKS_AT] ?? 0) & 1) === 1) continue;
      slots.set(Number(bytes.readBigUInt64LE(start + labelAt)), first + at);
    }
  }
  return slots;
}

function dict(value: unknown): PickleDict {
  if (value instanceof Map) return value as PickleDict;
  throw new PickleError("index_metadata.pickle holds no dictionary where one belongs");
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}
