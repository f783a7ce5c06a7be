/** Reads damaged files of a palace. A parser must read a file or throw a typed error, and never return an invented vector. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { PickleError, readPickle } from "../../src/mempalace/format/pickle.ts";
import { applyRecord, parseQueueRow, type QueueRow } from "../../src/mempalace/format/queue.ts";
import { openSegment } from "../../src/mempalace/format/segment.ts";
import { pickleOf, segmentFiles } from "../helpers/hnsw-segment.ts";
import { type Chooser, object } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-fuzz-files-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Pickle instructions: known ones, unknown ones, and ones that call a function. */
const OPCODES = [
  ..."().0123FGIJKLMNPQRSTUVX]abcdegijlopqrstu}",
  "\x80\x02",
  "\x80\x04",
  "\x81",
  "\x85",
  "\x8a",
  "\x8c",
];
const MORE = [
  ..."\x88\x89\x8b\x8e\x93\x94\x95",
  "cos\nsystem\n",
  "cbuiltins\neval\n",
  "X\x04\0\0\0id_t",
  "K\x01",
  "h\0",
];

function program(chooser: Chooser): Buffer {
  const parts = chooser.some(40, () => Buffer.from(chooser.pick([...OPCODES, ...MORE]), "latin1"));
  return Buffer.concat([...parts, chooser.bytes(6), Buffer.from(chooser.chance(0.7) ? "." : "")]);
}

function labels(chooser: Chooser): (readonly [string, number])[] {
  return chooser.some(8, () => [chooser.text(), chooser.below(2 ** 31)] as const);
}

fuzz<Buffer>("pickles", {
  count: 40_000,
  generate: (chooser) => {
    if (chooser.chance(0.4)) return program(chooser);
    const whole = pickleOf(labels(chooser));
    return chooser.chance(0.9) ? chooser.damaged(whole) : whole;
  },
  check: (bytes) => {
    try {
      const value = readPickle(bytes);
      expect(["object", "string", "number", "boolean"]).toContain(typeof value);
    } catch (error) {
      expect(error).toBeInstanceOf(PickleError);
    }
  },
});

type Files = { files: Record<string, Buffer>; ids: string[]; sound: boolean };

fuzz<Files>("index-files", {
  count: 5_000,
  generate: (chooser) => {
    const dimensions = chooser.between(1, 4);
    const entries = Array.from({ length: chooser.between(1, 6) }, (_, n) => ({
      id: chooser.chance(0.8) ? `id${n}` : chooser.text(),
      vector: Float32Array.from({ length: dimensions }, () => chooser.below(1000) / 7),
      deleted: chooser.chance(0.2),
    }));
    const files: Record<string, Buffer> = segmentFiles(entries);
    const sound = chooser.chance(0.2);
    for (const name of Object.keys(files)) {
      if (sound || chooser.chance(0.5)) continue;
      if (chooser.chance(0.1)) delete files[name];
      else files[name] = chooser.damaged(files[name] ?? Buffer.alloc(0));
    }
    return { files, ids: entries.flatMap(({ id, deleted }) => (deleted ? [] : [id])), sound };
  },
  check: ({ files, ids, sound }, { lane }) => {
    const folder = join(root, String(lane));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
    const segment = openSegment(folder);
    if (sound) expect(segment.state).toBe("whole");
    if (segment.state === "torn") expect(segment.why).not.toBe("");
    if (segment.state !== "whole") return;
    for (const id of [...segment.ids, "nobody"]) {
      const vector = segment.vector(id);
      if (vector !== undefined) expect(vector.length).toBe(segment.dimensions);
    }
    if (sound) expect(new Set(segment.ids)).toEqual(new Set(ids.map((id) => Buffer.from(id).toString())));
    segment.close();
  },
});

fuzz<QueueRow[]>("queue-rows", {
  count: 20_000,
  generate: (chooser) =>
    chooser.some(5, () => ({
      seq: chooser.below(1000),
      operation: chooser.chance(0.9) ? chooser.below(4) : JSON.parse(chooser.number()),
      id: chooser.chance(0.9) ? chooser.text() : chooser.pick([null, 7, Buffer.alloc(2)]),
      vector: chooser.chance(0.6) ? chooser.bytes(40) : chooser.pick([null, "text", 7]),
      encoding: chooser.pick(["FLOAT32", "FLOAT32", "INT32", null, 1]),
      metadata: chooser.chance(0.8)
        ? object(chooser.some(4, () => [chooser.pick(["wing", "chroma:document", chooser.text()]), chooser.json(2)]))
        : chooser.pick([null, chooser.json(2), chooser.text(), 7]),
    })),
  check: (rows) => {
    let state: ReturnType<typeof applyRecord>;
    for (const row of rows) {
      const record = parseQueueRow(row);
      if (record === undefined) continue;
      expect(record.vector === undefined || record.vector.length > 0).toBe(true);
      state = applyRecord(state, record);
      if (state === undefined) continue;
      expect(typeof state.text).toBe("string");
      for (const value of Object.values(state.metadata).flat())
        expect(["string", "number", "boolean"]).toContain(typeof value);
    }
  },
});
