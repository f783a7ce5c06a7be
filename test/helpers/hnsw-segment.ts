/** Writes a vector index as Chroma's Rust core does, but without links. test/process/mempalace/adopt-python.test.ts reads a real one. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const VECTOR_AT = 132;
const [LEVELS_AT, LINKS_AT] = [52, 60];
/** Maximum number of an element's links on an upper level, and on the lowest level. */
const LINKS = [16, 32] as const;

export type SegmentEntry = { id: string; vector: Float32Array; deleted?: boolean };

export function writeSegment(folder: string, entries: readonly SegmentEntry[]): void {
  const files = segmentFiles(entries);
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
}

type SegmentFile = "header.bin" | "data_level0.bin" | "length.bin" | "link_lists.bin" | "index_metadata.pickle";

export function segmentFiles(entries: readonly SegmentEntry[]): Record<SegmentFile, Buffer> {
  const dimensions = entries[0]?.vector.length ?? 2;
  const labelAt = VECTOR_AT + 4 * dimensions;
  const size = labelAt + 8;
  const capacity = entries.length + 3;
  const data = Buffer.alloc(capacity * size);
  entries.forEach(({ vector, deleted = false }, slot) => {
    const at = slot * size;
    data.writeUInt8(deleted ? 1 : 0, at + 2);
    Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).copy(data, at + VECTOR_AT);
    data.writeBigUInt64LE(BigInt(slot + 1), at + labelAt);
  });
  const header = Buffer.alloc(100);
  header.writeInt32LE(1, 0);
  [0, capacity, entries.length, size, labelAt, VECTOR_AT].forEach((value, index) => {
    header.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
  });
  header.writeInt32LE(entries.length === 0 ? -1 : 0, LEVELS_AT);
  LINKS.forEach((links, index) => header.writeBigUInt64LE(BigInt(links), LINKS_AT + 8 * index));
  const labels = entries.flatMap(({ id, deleted }, slot) => (deleted === true ? [] : [[id, slot + 1] as const]));
  const four = Buffer.alloc(4 * entries.length);
  return {
    ...{ "header.bin": header, "data_level0.bin": data, "index_metadata.pickle": pickleOf(labels) },
    ...{ "length.bin": four, "link_lists.bin": four },
  };
}

/** Writes pickle protocol 3, with the instructions that the Rust core uses. */
export function pickleOf(labels: readonly (readonly [string, number])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([Buffer.from("X"), length, bytes]);
  };
  const int = (value: number): Buffer => {
    const bytes = Buffer.alloc(5);
    bytes.write("J");
    bytes.writeInt32LE(value, 1);
    return bytes;
  };
  return Buffer.concat([
    Buffer.from([0x80, 3]),
    Buffer.from("}("),
    ...[text("dimensionality"), Buffer.from("N"), text("total_elements_added"), int(labels.length)],
    ...[text("max_seq_id"), Buffer.from("N"), text("id_to_label"), Buffer.from("}(")],
    ...labels.flatMap(([id, label]) => [text(id), int(label)]),
    ...[Buffer.from("u"), text("id_to_seq_id"), Buffer.from("}"), Buffer.from("u.")],
  ]);
}
