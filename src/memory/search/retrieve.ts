/** Retrieves a search's candidates, each with all scores (source: docs/lab/search-recipe.md, the recipe, items 1 to 4). */
import type { Clock } from "../../base/clock.ts";
import { within } from "../../base/time-limit.ts";
import { traced } from "../../base/trace.ts";
import type { DrawerFilter } from "../port/drawer.ts";
import { type Embedder, type LexicalIndex, NO_PARTS, type VectorIndex } from "../port/search.ts";
import type { Candidate } from "./fusion.ts";

export type Indexes = { lexical: LexicalIndex; vectors: VectorIndex; embedder: Embedder | undefined; clock?: Clock };

export type RetrieveRequest = {
  query: string;
  /** True for a search only by words, without static vectors. */
  isLexical: boolean;
  filter: DrawerFilter;
  /** Number of candidates to find by words, and again by the model's vectors. */
  pool: number;
  /** Phrases that a drawer must contain word for word. */
  quoted: readonly string[];
};

export type Retrieved = {
  candidates: Candidate[];
  /** The question's vector; undefined if the vectors were not used. */
  vector: Float32Array | undefined;
  /** The reason why the search got no vectors. */
  failure: string | undefined;
  /** True if some drawer has all quoted phrases. Only such drawers are then candidates. */
  isQuoted: boolean;
};

/** While the cosines are read, words are already scored for this many candidates of the vector index, per wanted row. */
const LIKELY_FACTOR = 1.25;
/** Maximum time to wait for vectors, ms, enough for a busy machine. A search by words takes milliseconds. */
const VECTOR_DEADLINE_MS = 2_000;

export async function retrieve(
  { lexical, vectors, embedder, clock }: Indexes,
  { query, isLexical, filter, pool, quoted }: RetrieveRequest,
): Promise<Retrieved> {
  // Set if the vectors fail or come too late, as from a dead thread. The answer then comes from words and static vectors.
  let failure: string | undefined;
  const orNothing = async <T>(work: Promise<T>): Promise<T | undefined> => {
    try {
      const done = await within(work, VECTOR_DEADLINE_MS, clock);
      if (done === undefined) failure = "the vector search did not answer in time";
      return done;
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  };
  const embedded = async (by: Embedder): Promise<{ vector: Float32Array; rows: number[] } | undefined> => {
    const [vector] = await traced("palace.search.embed", () => by.embed([query]));
    const around = (near: Float32Array) => traced("palace.search.near", () => vectors.around(near, filter, pool));
    return vector && { vector, rows: await around(vector) };
  };
  const [found, around, phraseRows] = await Promise.all([
    traced("palace.search.words", () => lexical.retrieve(query, filter, pool, isLexical)),
    embedder && orNothing(embedded(embedder)),
    quoted.length === 0 ? [] : lexical.phraseRows(quoted, filter, pool),
  ]);

  const isQuoted = phraseRows.length > 0;
  const known = isQuoted ? phraseRows : found.map(({ row }) => row);
  const close = isQuoted ? [] : (around?.rows ?? []);
  const words = new Map(found.map(({ row, parts }) => [row, parts]));
  const readWords = async (rows: readonly number[]): Promise<void> => {
    const missing = rows.filter((row) => !words.has(row));
    const parts = missing.length === 0 ? [] : await lexical.score(query, missing);
    missing.forEach((row, at) => words.set(row, parts[at] ?? NO_PARTS));
  };
  const [cosines] = await Promise.all([
    around && orNothing(readCosines(vectors, around.vector, [...new Set([...known, ...close])])),
    readWords([...known, ...close.slice(0, pool * LIKELY_FACTOR)]),
  ]);
  const nearest = cosines === undefined ? [] : nearestOf(close, cosines, pool);
  const rows = [...new Set([...known, ...nearest])];
  await readWords(rows);
  return {
    candidates: rows.map((row) => ({
      row,
      words: words.get(row) ?? NO_PARTS,
      cosine: cosines?.get(row) ?? Number.NaN,
    })),
    vector: cosines && around?.vector,
    failure,
    isQuoted,
  };
}

async function readCosines(
  vectors: VectorIndex,
  vector: Float32Array,
  rows: readonly number[],
): Promise<Map<number, number>> {
  const cosines = await traced("palace.search.cosines", () => vectors.similarity(vector, rows));
  return new Map(rows.map((row, at) => [row, cosines[at] ?? Number.NaN]));
}

function nearestOf(rows: readonly number[], cosines: ReadonlyMap<number, number>, count: number): number[] {
  const cosineOf = (row: number): number => cosines.get(row) ?? Number.NaN;
  return rows
    .filter((row) => !Number.isNaN(cosineOf(row)))
    .sort((a, b) => cosineOf(b) - cosineOf(a) || a - b)
    .slice(0, count);
}
