/**
 * Makes vectors of texts from a table with one row for each token: a vector is the sum of the rows of a text's tokens, made unit.
 * That needs no network and no download. README.md in this folder has the table's form, source and notice. Used by the writer of
 * the ledger, which files a vector with each drawer, and by the search.
 */
import { readFileSync } from "node:fs";
import { quantize } from "../../../base/quantize.ts";
import type { StaticCode } from "../../port/ledger.ts";
import { WordPiece } from "./wordpiece.ts";

export const STATIC_DIMENSIONS = 256;
/** Two dimensions to a byte. */
const BYTES = STATIC_DIMENSIONS / 2;
const NIBBLES_MEAN = 8;

export type StaticTable = {
  /** Shape: Float32Array[256], L2-normalised; undefined for a text without a token. */
  vectorOf(text: string): Float32Array | undefined;
  /** The quantized vector; zero for a text without a token. */
  codeOf: StaticCode;
  /** Adds to `sum` the rows of a question's known tokens times `weight`. */
  addKnown(sum: Float32Array, question: string, weight: number): void;
};

let opened: StaticTable | undefined;

/** Opens the table of this package; a thread reads it once, 4 MB. */
export function staticTable(): StaticTable {
  return (opened ??= open());
}

function open(): StaticTable {
  const read = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));
  const packed = read("table.q4");
  const halves = read("scales.f16");
  const scales = Float32Array.from({ length: halves.length / 2 }, (_, at) => fromHalf(halves.readUInt16LE(2 * at)));
  const words = new WordPiece(read("vocab.txt").toString("utf8").trimEnd().split("\n"));
  const add = (sum: Float32Array, ids: readonly number[], weight: number): void => {
    for (const id of ids) {
      const scale = weight * (scales[id] as number);
      const start = id * BYTES;
      for (let at = 0; at < BYTES; at++) {
        const byte = packed[start + at] as number;
        sum[2 * at] = (sum[2 * at] as number) + scale * ((byte & 15) - NIBBLES_MEAN);
        sum[2 * at + 1] = (sum[2 * at + 1] as number) + scale * ((byte >> 4) - NIBBLES_MEAN);
      }
    }
  };
  const vectorOf = (text: string): Float32Array | undefined => {
    const sum = new Float32Array(STATIC_DIMENSIONS);
    add(sum, words.encode(text), 1);
    return unit(sum);
  };
  return {
    addKnown: (sum, question, weight) => add(sum, words.encodeKnown(question), weight),
    vectorOf,
    codeOf(text) {
      const vector = vectorOf(text);
      return vector === undefined ? { code: new Int8Array(STATIC_DIMENSIONS), scale: 0 } : quantize(vector);
    },
  };
}

/** The vector with length 1; undefined if its length is 0. */
export function unit(vector: Float32Array): Float32Array | undefined {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return length === 0 ? undefined : vector.map((value) => value / length);
}

/** A positive half float: five bits of exponent, ten of fraction (IEEE 754). */
function fromHalf(bits: number): number {
  const exponent = bits >> 10;
  const fraction = (bits & 1023) / 1024;
  return exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
}
