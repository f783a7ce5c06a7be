import { expect, test } from "vitest";
import { CodeMemory } from "../../../../../src/memory/index/vectors/code-memory.ts";
import { type Code, quantize } from "../../../../../src/base/quantize.ts";
import { BATCH_SLOTS, createScanMemory, DIMENSIONS } from "../../../../../src/memory/index/vectors/scan-wasm.ts";
import type { PlaceFilter } from "../../../../../src/memory/port/drawer.ts";
import { seededRandom } from "../../../../helpers/random.ts";

const random = seededRandom(11);
const below = (bound: number): number => Math.floor(random() * bound);
const randomVector = (): Float32Array => Float32Array.from({ length: DIMENSIONS }, () => random() * 2 - 1);
const bytesOf = ({ code }: Code): Uint8Array => new Uint8Array(code.buffer);

const multiply = (a: Code, b: Code): number =>
  a.code.reduce((sum, value, at) => sum + value * (b.code[at] ?? 0), 0) * a.scale * b.scale;

test("after any additions, changes, moves and removals the code memory has the same codes as a plain list", () => {
  const memory = new CodeMemory(DIMENSIONS);
  const list = new Map<number, { code: Code; wing: string; room: string }>();
  const filters: PlaceFilter[] = [{}, { wing: "w1" }, { room: "r0" }, { wing: "w0", room: "r2" }];
  for (let step = 0; step < 6000; step++) {
    const row = below(1500);
    if (random() < 0.35) {
      memory.remove(row);
      list.delete(row);
    } else {
      const entry = { code: quantize(randomVector()), wing: `w${below(3)}`, room: `r${below(3)}` };
      memory.put(row, entry, bytesOf(entry.code), entry.code.scale);
      list.set(row, entry);
    }
    if (step % 400 !== 0) continue;
    const query = quantize(randomVector());
    for (const filter of filters) {
      const expected = [...list]
        .filter(([, at]) => (filter.wing ?? at.wing) === at.wing && (filter.room ?? at.room) === at.room)
        .map(([id, { code }]) => ({ row: id, score: multiply(query, code) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 7);
      const found = memory.scan(query, filter, 7);
      expect(found.map((one) => one.row)).toEqual(expected.map((one) => one.row));
      found.forEach(({ score }, at) => expect(score).toBeCloseTo(expected[at]?.score ?? Number.NaN, 3));
    }
  }
  expect(memory.size).toBe(list.size);
});

test("a scan's dot product is exact for the largest values, at both ends of a batch", () => {
  const memory = createScanMemory(DIMENSIONS);
  memory.reserve(BATCH_SLOTS);
  memory.query.fill(-127);
  memory.codes.fill(-127 & 0xff, (BATCH_SLOTS - 1) * DIMENSIONS, BATCH_SLOTS * DIMENSIONS);
  memory.codes.fill(127, 0, DIMENSIONS);
  for (let at = 0; at < BATCH_SLOTS; at++) memory.slots[at] = at;
  memory.run(BATCH_SLOTS);
  const largest = 127 * 127 * DIMENSIONS;
  expect([memory.products[0], memory.products[1], memory.products[BATCH_SLOTS - 1]]).toEqual([-largest, 0, largest]);
});

test("codes stay the same when the code memory grows", () => {
  const memory = createScanMemory(DIMENSIONS);
  memory.reserve(10);
  memory.codes.fill(1, 0, DIMENSIONS);
  memory.reserve(100_000);
  memory.query.fill(2);
  memory.slots[0] = 0;
  memory.run(1);
  expect(memory.products[0]).toBe(2 * DIMENSIONS);
});

test("quantizing changes each value by at most half a step, and a dot product of unit vectors by at most the error bound", () => {
  const memory = new CodeMemory(DIMENSIONS);
  const unit = (vector: Float32Array): Float32Array => {
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    return vector.map((value) => value / length);
  };
  const vectors = Array.from({ length: 300 }, () => unit(randomVector()));
  vectors.forEach((vector, row) => {
    const code = quantize(vector);
    vector.forEach((value, at) =>
      expect(Math.abs(value - (code.code[at] ?? 0) * code.scale)).toBeLessThan(code.scale * 0.5001),
    );
    memory.put(row, { wing: "w", room: "r" }, bytesOf(code), code.scale);
  });
  const query = unit(randomVector());
  for (const { row, score } of memory.scan(quantize(query), {}, 300)) {
    const exact = query.reduce((sum, value, at) => sum + value * (vectors[row]?.[at] ?? 0), 0);
    expect(Math.abs(score - exact)).toBeLessThan(memory.errorMax(quantize(query)));
  }
});

test("a vector of zeros can be stored as a static code", () => {
  expect(quantize(new Float32Array(DIMENSIONS))).toEqual({ code: new Int8Array(DIMENSIONS), scale: 1 });
});
