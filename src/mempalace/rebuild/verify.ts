/** Verifies that a palace on disk has exactly the rows that it was made from. It reads the files itself and does not trust the writer. */
import type { Metadata } from "../../memory/port/drawer.ts";
import type { PalaceRecord } from "../../memory/port/public-palace.ts";
import { damaged, type PalaceError } from "../../base/errors.ts";
import { chromaFile, openChroma, readCollections } from "../format/chroma-file.ts";
import { PalaceVectors, readRows } from "../format/palace-file.ts";
import { ContentHash } from "./content-hash.ts";
import { cosine } from "../format/cosine.ts";

const PAGE_ROWS = 200;
const BUSY_TIMEOUT_MS = 5_000;
/** Minimum cosine between a vector and its copy, which differs a little: it was written as decimal digits and normalised again. */
const COSINE_MIN = 0.9999;
/** Two numbers count as equal if they differ by at most this many steps between adjacent doubles. */
const FRACTION_STEPS = 2;

export type Expected = {
  rows: number;
  hash: string;
  /** Returns the expected record; undefined if the collection must not have this row. */
  record: (id: string) => PalaceRecord | undefined;
};

/** Compares a collection with `Expected`. Calls `step` after each page. Errors: STORE_CORRUPT with the first difference. */
export async function verifyCollection(
  palaceDir: string,
  name: string,
  expected: Expected,
  step: (rows: number) => Promise<void>,
): Promise<void> {
  const file = chromaFile(palaceDir);
  const differs = (why: string): PalaceError => damaged(`${file} differs from what was written: ${why}`, "try again");
  const database = openChroma(palaceDir, BUSY_TIMEOUT_MS);
  if (database === undefined) throw differs("there is no file");
  try {
    const collection = readCollections(database).find((one) => one.name === name);
    if (collection === undefined) {
      if (expected.rows === 0) return;
      throw differs(`no collection ${name}`);
    }
    const vectors = new PalaceVectors(database, palaceDir, collection);
    try {
      if (vectors.torn !== undefined) throw differs(vectors.torn);
      const hash = new ContentHash();
      for (let after = 0; ;) {
        const page = readRows(database, collection, after, PAGE_ROWS);
        if (page.length === 0) break;
        after = page.at(-1)?.row ?? after;
        for (const row of page) {
          const record = expected.record(row.id);
          if (record === undefined) throw differs(`row ${row.id} was not asked for`);
          hash.add({ ...row, metadata: asWritten(row.metadata, record.metadata) });
          const vector = vectors.vector(row.id);
          if (vector === undefined || !(cosine(vector, record.vector) > COSINE_MIN))
            throw differs(`row ${row.id} has ${vector === undefined ? "no vector" : "another vector"}`);
        }
        await step(hash.rows);
      }
      if (hash.rows !== expected.rows) throw differs(`${hash.rows} rows instead of ${expected.rows}`);
      if (hash.hex !== expected.hash) throw differs("its texts or metadata differ");
    } finally {
      vectors.close();
    }
  } finally {
    database.close();
  }
}

/**
 * Returns `found`, but with the written value for each number that is nearly equal. Chroma's server changes 9 % of today's Unix times by
 * one step (1.5.9).
 */
function asWritten(found: Metadata, written: Metadata): Metadata {
  return Object.fromEntries(
    Object.entries(found).map(([key, value]) => [key, isNearly(value, written[key]) ? written[key] : value]),
  ) as Metadata;
}

function isNearly(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, at) => one === b[at] || isNearly(one, b[at]));
  if (typeof a !== "number" || typeof b !== "number" || Number.isInteger(b)) return false;
  return Math.abs(a - b) <= FRACTION_STEPS * Number.EPSILON * Math.abs(b);
}
