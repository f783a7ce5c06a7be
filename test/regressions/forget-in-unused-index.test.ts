/** Unused space in Chroma's index contains old memory of its process, including texts, which `forget` did not wipe. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { erasePalace } from "../../src/mempalace/erase/palace-bytes.ts";
import { openSegment } from "../../src/mempalace/format/segment.ts";
import { filesHolding } from "../helpers/bytes.ts";
import { ChromaPalace } from "../helpers/chroma-palace.ts";
import { writeSegment } from "../helpers/hnsw-segment.ts";

const SECRET = "zq7xk9unforgettable4w2v";

test("forget wipes the unused space of an index and keeps its elements", () => {
  const folder = mkdtempSync(join(tmpdir(), "palace-forget-"));
  try {
    const palace = new ChromaPalace(folder);
    const vector = Float32Array.of(0.6, 0.8, 0);
    palace.upsert([{ id: "stays", text: "a text", metadata: {}, vector }]);
    palace.close();
    const index = join(folder, palace.vectorSegment);
    writeSegment(index, [{ id: "stays", vector }]);
    const files = ["data_level0.bin", "length.bin"].map((name) => join(index, name));
    for (const file of files) appendFileSync(file, `${"\0".repeat(5_000_000)}${SECRET.repeat(9)}`);
    const sizes = files.map((file) => readFileSync(file).length);
    expect(filesHolding(folder, SECRET).length).toBe(2);

    erasePalace(folder, ["gone"]);
    expect(filesHolding(folder, SECRET)).toEqual([]);
    expect(files.map((file) => readFileSync(file).length)).toEqual(sizes);
    const segment = openSegment(index);
    if (segment.state !== "whole") throw new Error(segment.state);
    expect(segment.vector("stays")).toEqual(vector);
    segment.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
