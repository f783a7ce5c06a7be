/** Tests the readers of Chroma's files on bytes made by hand. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seqOf } from "../../../../src/mempalace/format/palace-file.ts";
import { PickleError, readPickle } from "../../../../src/mempalace/format/pickle.ts";
import { applyRecord, parseQueueRow } from "../../../../src/mempalace/format/queue.ts";
import { labelsOf, openSegment, type WholeSegment } from "../../../../src/mempalace/format/segment.ts";
import { pickleOf, writeSegment } from "../../../helpers/hnsw-segment.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))));

describe("the reader of Chroma's pickles", () => {
  it("a pickle of Chroma's Rust core is read", () => {
    const root = readPickle(pickleOf([["a", 1]])) as Map<string, unknown>;
    expect(root.get("id_to_label")).toEqual(new Map([["a", 1]]));
    expect(root.get("dimensionality")).toBeNull();
  });

  it("a pickle of Chroma's older Python core is read", () => {
    // Output of `pickle.dumps(PersistentData(…), 4)` in Python 3.11, with a shorter state.
    const module = "chromadb.segment.impl.vector.local_persistent_hnsw";
    const pickle = bytes(
      ...[[0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0], [0x8c, module.length], module, [0x94], [0x8c, 14]],
      ...["PersistentData", [0x94, 0x93, 0x94], ")", [0x81, 0x94], "}", [0x94], "(", [0x8c, 11], "id_to_label"],
      ...[[0x94], "}", [0x94], [0x8c, 1], "a", [0x94], "K", [7], "s", [0x8c, 14], "dimensionality", [0x94]],
      ...["M", [0x80, 1], "ub."],
    );
    const root = readPickle(pickle) as Map<string, unknown>;
    expect(root.get("id_to_label")).toEqual(new Map([["a", 7]]));
    expect(root.get("dimensionality")).toBe(384);
  });

  it("a pickle is refused if it calls or imports code or is malformed", () => {
    for (const [program, why] of [
      [bytes("cos\nsystem\n(S'true'\ntR."), /names the class os system/],
      [bytes([0x80, 4, 0x8c, 2], "os", [0x8c, 6], "system", [0x93], ")", [0x81], "."), /names the class os system/],
      [bytes("}R."), /0x52/],
      [bytes("}"), /cut off/],
      [bytes("."), /empty/],
      [bytes("NN."), /more than one value/],
      [bytes("(."), /missing/],
    ] as const)
      expect(() => readPickle(program)).toThrow(
        expect.objectContaining({ message: expect.stringMatching(why) }) as Error,
      );
    expect(() => readPickle(bytes("}R."))).toThrow(PickleError);
  });
});

describe("the reader of Chroma's vector index on disk", () => {
  const vectors = Array.from({ length: 5 }, (_, n) => Float32Array.of(n, 1, 0.5));
  const entries = vectors.map((vector, n) => ({ id: `id${n}`, vector, deleted: n === 3 }));

  it("an index on disk returns the vector of each id that is not deleted", () => {
    writeSegment(folder, entries);
    const segment = openSegment(folder);
    if (segment.state !== "whole") throw new Error(JSON.stringify(segment));
    expect(segment.dimensions).toBe(3);
    expect([...segment.ids]).toEqual(["id0", "id1", "id2", "id4"]);
    expect(segment.vector("id4")).toEqual(vectors[4]);
    expect(segment.vector("id3")).toBeUndefined();
    segment.close();
  });

  it("an index that was never flushed counts as absent, and an inconsistent index as torn", () => {
    expect(openSegment(join(folder, "nowhere"))).toEqual({ state: "absent" });
    const torn = (): string => {
      const segment = openSegment(folder);
      return segment.state === "torn" ? segment.why : segment.state;
    };
    writeSegment(folder, entries);
    truncateSync(join(folder, "data_level0.bin"), 300);
    expect(torn()).toMatch(/shorter than its header says/);
    writeSegment(folder, entries);
    truncateSync(join(folder, "index_metadata.pickle"), 40);
    expect(torn()).toMatch(/cut off/);
    writeSegment(folder, entries);
    writeFileSync(join(folder, "header.bin"), Buffer.alloc(100));
    expect(torn()).toMatch(/another version/);
    writeSegment(folder, entries);
    rmSync(join(folder, "header.bin"));
    expect(torn()).toMatch(/ENOENT/);
    writeSegment(folder, entries);
    writeFileSync(join(folder, "index_metadata.pickle"), pickleOf([["id9", 99]]));
    expect(torn()).toMatch(/no vector of id9/);
    // The vector of `id3` exists but is marked as deleted.
    writeFileSync(join(folder, "index_metadata.pickle"), pickleOf([["id3", 4]]));
    expect(torn()).toMatch(/no vector of id3/);
  });

  it("an index with an older id list returns the listed vectors and counts as stale", () => {
    writeSegment(folder, entries);
    const sound = openSegment(folder) as WholeSegment;
    expect(sound.stale).toBeUndefined();
    sound.close();
    const [first = "", ...others] = [...sound.ids];
    const labels = [...labelsOf(readFileSync(join(folder, "index_metadata.pickle")))];
    writeFileSync(join(folder, "index_metadata.pickle"), pickleOf(labels.slice(0, 1)));
    const segment = openSegment(folder) as WholeSegment;
    expect(segment.stale).toContain(`names 1 of the ${others.length + 1} vectors`);
    expect(segment.vector(first)).toBeDefined();
    segment.close();
  });

  it("an index that Chroma cannot load counts as torn", () => {
    const torn = (name: string, change: (bytes: Buffer) => Buffer | undefined): string => {
      writeSegment(folder, entries);
      const changed = change(readFileSync(join(folder, name)));
      if (changed === undefined) rmSync(join(folder, name));
      else writeFileSync(join(folder, name), changed);
      const segment = openSegment(folder);
      return segment.state === "torn" ? segment.why : segment.state;
    };
    const patched =
      (at: number, ...values: number[]) =>
      (bytes: Buffer) => {
        bytes.set(values, at);
        return bytes;
      };
    expect(torn("length.bin", (bytes) => bytes)).toBe("whole");
    expect(torn("length.bin", () => undefined)).toMatch(/ENOENT/);
    expect(torn("length.bin", (bytes) => bytes.subarray(4))).toMatch(/length.bin is shorter/);
    expect(torn("link_lists.bin", () => undefined)).toMatch(/ENOENT/);
    expect(torn("link_lists.bin", (bytes) => bytes.subarray(4))).toMatch(/link_lists.bin is cut off/);
    expect(torn("link_lists.bin", (bytes) => Buffer.concat([bytes, bytes]))).toMatch(/link_lists.bin is too long/);
    expect(torn("link_lists.bin", patched(0, 1))).toMatch(/link_lists.bin is cut off/);
    expect(torn("header.bin", patched(56, 5))).toMatch(/contradicts itself/);
    expect(torn("header.bin", patched(52, 0xff, 0xff, 0xff, 0xff))).toMatch(/contradicts itself/);
    // The first slot has one link: in the first case to the last element, in the second case beyond the last element.
    expect(torn("data_level0.bin", patched(0, 1, 0, 0, 0, 4))).toBe("whole");
    expect(torn("data_level0.bin", patched(0, 1, 0, 0, 0, 5))).toMatch(/data_level0.bin has a link that leads nowhere/);
    expect(torn("data_level0.bin", patched(0, 33))).toMatch(/data_level0.bin has a link that leads nowhere/);
  });
});

describe("a row of Chroma's queue", () => {
  const row = { seq: 1, operation: 2, id: "a", vector: null, encoding: null, metadata: null };

  it("a row of Chroma's queue is merged into the existing record as in Chroma", () => {
    const at = (operation: number, metadata: unknown) => {
      const record = parseQueueRow({ ...row, operation, metadata: JSON.stringify(metadata) });
      if (record === undefined) throw new Error("not read");
      return record;
    };
    const before = { text: "old", metadata: { wing: "w", topic: "t", n: 1 } };
    expect(applyRecord(before, at(2, { "chroma:document": "new", topic: null, live: true }))).toEqual({
      text: "new",
      metadata: { wing: "w", n: 1, live: true },
    });
    expect(applyRecord(before, at(1, { wing: "v" }))).toEqual({
      text: "old",
      metadata: { wing: "v", topic: "t", n: 1 },
    });
    expect(applyRecord(before, at(0, { wing: "v" }))).toBe(before);
    expect(applyRecord(undefined, at(1, { wing: "v" }))).toBeUndefined();
    expect(applyRecord(undefined, at(0, { wing: "v" }))).toEqual({ text: "", metadata: { wing: "v" } });
    expect(applyRecord(before, at(3, {}))).toBeUndefined();
  });

  it("a row of the queue that Chroma did not write is ignored", () => {
    for (const odd of [{ operation: 9 }, { id: 7 }, { metadata: "{" }, { metadata: "[]" }, { vector: Buffer.alloc(5) }])
      expect(parseQueueRow({ ...row, encoding: "FLOAT32", ...odd })).toBeUndefined();
    expect(parseQueueRow({ ...row, vector: Buffer.alloc(8), encoding: "INT32" })).toBeUndefined();
  });
});

it("the sequence numbers in files of an older Chroma are decoded", () => {
  const poisoned = Buffer.concat([Buffer.from([0x11, 0x11]), Buffer.from("42")]);
  expect([seqOf(7), seqOf(Buffer.from([0, 0, 0, 0, 0, 0, 1, 2])), seqOf(poisoned), seqOf(null)]).toEqual([
    ...[7, 258, 42, undefined],
  ]);
});
