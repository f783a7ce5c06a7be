/** Makes static vectors: the sum of the rows of a text's tokens in a table, scaled to length 1 (README.md describes the table). */
import { readFileSync } from "node:fs";
import { quantize } from "../../../base/quantize.ts";
import type { StaticCode } from "../../port/ledger.ts";
import { WordPiece } from "./wordpiece.ts";

export const STATIC_DIMENSIONS = 256;
/** Number of 16-bit words in a row of the table. Each word has four dimensions, the first in the lowest bits. */
const FOURS = STATIC_DIMENSIONS / 4;
/** Number that the table's file adds to each value, −8…7, to store it in four bits. */
const OFFSET = 8;

export type StaticTable = {
  /** Returns a text's vector, Float32Array[256], L2-normalised; undefined for a text without a token. */
  vectorOf(text: string): Float32Array | undefined;
  /** Returns the quantized vector; zero for a text without a token. */
  codeOf: StaticCode;
  /** Returns the number of tokens of a lower-case word: 1 for most usual English words. */
  countTokens(word: string): number;
  /** Adds the rows of the question's known tokens to `sum`, multiplied by `weight`. */
  addKnown(sum: Float32Array, question: string, weight: number): void;
};

let opened: StaticTable | undefined;

/** Returns the table (4 MB). Each thread reads it from disk at its first call. */
export function staticTable(): StaticTable {
  return (opened ??= open());
}

function open(): StaticTable {
  const read = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));
  const bytes = read("table.q4");
  const packed = new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const halves = read("scales.f16");
  const scales = Float64Array.from({ length: halves.length / 2 }, (_, at) => fromHalf(halves.readUInt16LE(2 * at)));
  const words = new WordPiece(read("vocab.txt").toString("utf8").trimEnd().split("\n"));
  const add = (sum: Float32Array, ids: readonly number[], weight: number): void => {
    const weights = new Map<number, number>();
    for (const id of ids) weights.set(id, (weights.get(id) ?? 0) + weight * (scales[id] as number));
    addRows(sum, packed, Int32Array.from(weights.keys()), Float64Array.from(weights.values()));
  };
  const vectorOf = (text: string): Float32Array | undefined => {
    const sum = new Float32Array(STATIC_DIMENSIONS);
    add(sum, words.encode(text), 1);
    return unit(sum);
  };
  return {
    addKnown: (sum, question, weight) => add(sum, words.encodeKnown(question), weight),
    vectorOf,
    countTokens: (word) => words.countTokens(word),
    codeOf(text) {
      const vector = vectorOf(text);
      return vector === undefined ? { code: new Int8Array(STATIC_DIMENSIONS), scale: 0 } : quantize(vector);
    },
  };
}

/** Adds each row multiplied by its weight. The inner loop sums four dimensions in registers, which halves the time. */
function addRows(sum: Float32Array, packed: Uint16Array, ids: Int32Array, weights: Float64Array): void {
  for (let four = 0; four < FOURS; four++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let at = 0; at < ids.length; at++) {
      const bits = packed[(ids[at] as number) * FOURS + four] as number;
      const weight = weights[at] as number;
      a += weight * ((bits & 15) - OFFSET);
      b += weight * (((bits >> 4) & 15) - OFFSET);
      c += weight * (((bits >> 8) & 15) - OFFSET);
      d += weight * ((bits >> 12) - OFFSET);
    }
    const sums = [a, b, c, d];
    for (let at = 0; at < 4; at++) sum[4 * four + at] = (sum[4 * four + at] as number) + (sums[at] as number);
  }
}

/** Returns the vector scaled to length 1; undefined if its length is 0. */
export function unit(vector: Float32Array): Float32Array | undefined {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return length === 0 ? undefined : vector.map((value) => value / length);
}

/** Decodes a positive half-precision float: five bits of exponent, ten of fraction (IEEE 754). */
function fromHalf(bits: number): number {
  const exponent = bits >> 10;
  const fraction = (bits & 1023) / 1024;
  return exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
}
