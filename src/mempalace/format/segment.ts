/**
 * Reads the vectors of an index (hnswlib's files, palace.md 4.5) without Chroma. Chroma's flush is not atomic, so after a kill the files
 * may contradict each other; the index is then torn. Links and lengths are checked, too, because Chroma crashes on an invalid link.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type PickleDict, PickleError, readPickle } from "./pickle.ts";

export type Segment =
  /** `absent`: Chroma has never flushed, and every vector is in the queue. */
  { state: "absent" } | { state: "torn"; why: string } | WholeSegment;

export type WholeSegment = {
  state: "whole";
  dimensions: number;
  ids: ReadonlySet<string>;
  /** Reason why Chroma cannot use a readable index: one vector without an id makes every query fail (1.5.9: "Error finding id"). */
  stale: string | undefined;
  /** Returns the vector as stored: normalised if the space is `cosine`. Undefined for an unknown id. */
  vector(id: string): Float32Array | undefined;
  /** Returns the byte offset of the vector in data_level0.bin. */
  position(id: string): number | undefined;
  close(): void;
};

export const SEGMENT_FILES = [
  ...["header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle"],
] as const;

const HEADER_SIZE_BYTES = 100;
/** Offsets of the fields in header.bin, which are little-endian. */
const AT = {
  ...{ version: 0, offset: 4, capacity: 12, elements: 20, elementSize: 28, labelAt: 36, vectorAt: 44 },
  ...{ levels: 52, entry: 56, upperLinks: 60, lowestLinks: 68 },
} as const;
/** Size of the count at the beginning of a list of links. */
const COUNT_SIZE_BYTES = 4;
const LINK_SIZE_BYTES = 4;
const LINKS_MAX = 65_535;
/** Maximum number of levels. hnswlib puts only one of M elements of a level into the next one, so no index has more. */
const LEVELS_MAX = 64;
const LABEL_SIZE_BYTES = 8;
/** Size of each element's entry in length.bin. */
export const LENGTH_SIZE_BYTES = 4;
/** Offset, in an element's slot, of the byte whose bit 0 marks a deleted element. */
const MARKS_AT = 2;
const SCAN_SIZE_BYTES = 4 * 1024 * 1024;
const DIMENSIONS_MAX = 65_536;
const PICKLE_SIZE_MAX_BYTES = 1024 * 1024 * 1024;

class Torn extends Error {}

/** Opens a segment, which the caller must close. An unreadable segment is reported as torn. Never throws. */
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
    const lengths = statSync(join(folder, "length.bin")).size;
    if (lengths < header.elements * LENGTH_SIZE_BYTES) throw new Torn("length.bin is shorter than its header says");
    checkUpperLevels(join(folder, "link_lists.bin"), header);
    fd = openSync(file, "r");
    return whole(fd, header, labels);
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    return { state: "torn", why: (error as Error).message };
  }
}

type Header = {
  elements: number;
  elementSize: number;
  labelAt: number;
  vectorAt: number;
  dimensions: number;
  levels: number;
  /** Maximum number of links of an element: on each upper level, and on the lowest one. */
  upperLinks: number;
  lowestLinks: number;
};

/** Reads the header. Exported for the fuzz test. After any error the index counts as torn. */
export function headerOf(bytes: Buffer): Header {
  if (bytes.length !== HEADER_SIZE_BYTES) throw new Torn("header.bin does not have 100 bytes");
  const number = (at: number): number => Number(bytes.readBigUInt64LE(at));
  if (bytes.readInt32LE(AT.version) !== 1) throw new Torn("header.bin has another version");
  const [capacity, elements, elementSize] = [number(AT.capacity), number(AT.elements), number(AT.elementSize)];
  const [labelAt, vectorAt] = [number(AT.labelAt), number(AT.vectorAt)];
  const [upperLinks, lowestLinks] = [number(AT.upperLinks), number(AT.lowestLinks)];
  const [levels, entry] = [bytes.readInt32LE(AT.levels), bytes.readUInt32LE(AT.entry)];
  const vectorSize = labelAt - vectorAt;
  const fits =
    number(AT.offset) === 0 &&
    elements <= capacity &&
    vectorAt === COUNT_SIZE_BYTES + lowestLinks * LINK_SIZE_BYTES &&
    Math.max(lowestLinks, upperLinks) <= LINKS_MAX &&
    levels <= LEVELS_MAX &&
    (elements === 0 || (levels >= 0 && entry < elements)) &&
    vectorSize > 0 &&
    vectorSize % 4 === 0 &&
    vectorSize / 4 <= DIMENSIONS_MAX &&
    elementSize === labelAt + LABEL_SIZE_BYTES &&
    elements * elementSize < Number.MAX_SAFE_INTEGER;
  if (!fits) throw new Torn("header.bin contradicts itself");
  const dimensions = vectorSize / 4;
  return { elements, elementSize, labelAt, vectorAt, dimensions, levels, upperLinks, lowestLinks };
}

/** Returns hnswlib's number (label) of each id. Exported for the fuzz test. After any error the index counts as torn. */
export function labelsOf(pickle: Buffer): Map<string, number> {
  const root = readPickle(pickle);
  const labels = dict(root).get("id_to_label");
  const known = new Map<string, number>();
  for (const [id, label] of dict(labels)) {
    if (typeof id !== "string" || typeof label !== "number" || !Number.isInteger(label) || label < 0)
      throw new Torn("index_metadata.pickle has an invalid label");
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
    stale:
      slots.size === slotById.size
        ? undefined
        : `index_metadata.pickle names ${slotById.size} of the ${slots.size} vectors in data_level0.bin`,
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

/** Checks the links of upper levels. For each element, the file has the size of its lists, then a list for each level. Errors: Torn. */
function checkUpperLevels(file: string, { elements, levels, upperLinks }: Header): void {
  const listSize = COUNT_SIZE_BYTES + upperLinks * LINK_SIZE_BYTES;
  // Checks the size first, because sparse files of hundreds of gigabytes have occurred.
  if (statSync(file).size > elements * (4 + Math.max(0, levels) * listSize))
    throw new Torn("link_lists.bin is too long");
  const bytes = readFileSync(file);
  let at = 0;
  for (let element = 0; element < elements; element++) {
    if (at + 4 > bytes.length) throw new Torn("link_lists.bin is cut off");
    const size = bytes.readUInt32LE(at);
    at += 4;
    if (size % listSize !== 0 || at + size > bytes.length) throw new Torn("link_lists.bin is cut off");
    for (const end = at + size; at < end; at += listSize) checkLinks(bytes, at, upperLinks, elements, "link_lists.bin");
  }
  if (at !== bytes.length) throw new Torn("link_lists.bin is longer than its header says");
}

/** Checks one list of links. Errors: Torn for a link to an element that does not exist. */
function checkLinks(bytes: Buffer, at: number, linksMax: number, elements: number, name: string): void {
  const count = bytes.readUInt16LE(at);
  let fits = count <= linksMax;
  for (let link = 0; fits && link < count; link++)
    fits = bytes.readUInt32LE(at + COUNT_SIZE_BYTES + link * LINK_SIZE_BYTES) < elements;
  if (!fits) throw new Torn(`${name} has a link that leads nowhere`);
}

/** Returns by label the slots (positions in data_level0.bin) of the elements that are not deleted. Errors: Torn. */
function slotsOf(fd: number, { elements, elementSize, labelAt, lowestLinks }: Header): Map<number, number> {
  const slots = new Map<number, number>();
  const perScan = Math.max(1, Math.floor(SCAN_SIZE_BYTES / elementSize));
  const bytes = Buffer.alloc(Math.min(elements, perScan) * elementSize);
  for (let first = 0; first < elements; first += perScan) {
    const count = Math.min(perScan, elements - first);
    const length = count * elementSize;
    if (readSync(fd, bytes, 0, length, first * elementSize) < length) throw new Torn("data_level0.bin is cut off");
    for (let at = 0; at < count; at++) {
      const start = at * elementSize;
      checkLinks(bytes, start, lowestLinks, elements, "data_level0.bin");
      if (((bytes[start + MARKS_AT] ?? 0) & 1) === 1) continue;
      slots.set(Number(bytes.readBigUInt64LE(start + labelAt)), first + at);
    }
  }
  return slots;
}

function dict(value: unknown): PickleDict {
  if (value instanceof Map) return value as PickleDict;
  throw new PickleError("index_metadata.pickle has another value where a dictionary must be");
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}

/** Sets the time of an index's vector file to now, because MemPalace 3.3.6 renames an index that is five minutes older than the rows. */
export function touchIndex(segment: string): void {
  const file = join(segment, "data_level0.bin");
  if (existsSync(file)) utimesSync(file, new Date(), new Date());
}
