/** The parts that a search uses: words, vectors, the model and the cross-encoder. Implemented in index/. */
import type { DrawerFilter } from "./drawer.ts";
import type { Changes } from "./ledger.ts";

/** A row and its score. Lexical scores are like BM25 (≥ 0, higher is better); cosines are −1…1. */
export type Scored = { row: number; score: number };

/** The parts of a row's lexical score. `drawer` (BM25 of the drawer's words), `pairs` and `source` are not weighted yet. */
export type LexicalParts = {
  drawer: number;
  /** BM25 of pairs of successive query words that also follow each other in the drawer. */
  pairs: number;
  /** BM25 of the words in the drawer's whole source. */
  source: number;
  /** Share of the query's words that the drawer or its names contain, 0…1. A rare word counts more. */
  coverage: number;
  /** Share of the query's identifiers that the drawer or its source's folder contains exactly, 0…1; 0 for a query without identifiers. */
  identifiers: number;
  /** Share of the query's words that the source's path, wing or room contains, 0…1. A rare word counts more. A small share counts 0. */
  names: number;
  /** 1 if the query names the source's file, less if many files have that name, else 0. */
  file: number;
  /** Cosine of the drawer's static vector with the query's, −1…1; NaN if the drawer has no static vector. */
  meaning: number;
  /** True if the file is a changelog, a licence, a lockfile or a generated file, and the query does not ask for such a file. */
  isAside?: true;
};

/** Score parts for a drawer that was deleted while the search ran. */
export const NO_PARTS: LexicalParts = {
  ...{ drawer: 0, pairs: 0, source: 0, coverage: 0, identifiers: 0, names: 0, file: 0 },
  meaning: Number.NaN,
};

/** A row with its score and the score's parts. */
export type LexicalCandidate = Scored & { parts: LexicalParts };

/**
 * Number of candidates by words for each candidate by static vectors. Scoring candidates takes most of a search, and more candidates by
 * static vectors change no answer (docs/lab/search-recipe.md).
 */
export const NEAR_PART = 4;

/** BM25 and static vectors over the drawers. Concurrency: runs on its own thread and never waits for a write. */
export interface LexicalIndex {
  /**
   * Returns the best `limit` rows by BM25 that pass the filter, best first, with all scores. For a source or time window with at most
   * `limit` rows, returns all.
   */
  candidates(query: string, filter: DrawerFilter, limit: number): Promise<LexicalCandidate[]>;
  /**
   * Returns, in no order and with all scores, the `limit` best rows by BM25 and drawers whose names the question contains. Unless
   * `isLexical`, it adds the `limit / NEAR_PART` nearest rows by static vector.
   */
  retrieve(
    query: string,
    filter: DrawerFilter,
    limit: number,
    isLexical: boolean,
  ): Promise<Omit<LexicalCandidate, "score">[]>;
  /** Returns rows that contain every phrase word for word, without stemming, the best by BM25 first. */
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns the parts of each given row's lexical score, in the order given (docs/lab/search-recipe.md, the recipe, item 4). */
  score(query: string, rows: readonly number[]): Promise<LexicalParts[]>;
  /** Returns the cosine of each text's static vector with the query's, in the order given. */
  alike(query: string, texts: readonly string[]): Promise<number[]>;
}

/** Exact nearest neighbours over the stored vectors. */
export interface VectorIndex {
  /** Returns some rows that include the nearest `limit`. Together with a call of `similarity` that is faster than `nearest`. */
  around(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<number[]>;
  /** Returns cosines, best first. `vector` is Float32Array[dims], L2-normalised. */
  nearest(vector: Float32Array, filter: DrawerFilter, limit: number): Promise<Scored[]>;
  /** Returns the cosine of each given row, in the order given; NaN for a row without a vector. */
  similarity(vector: Float32Array, rows: readonly number[]): Promise<number[]>;
  /** Applies the changes of a commit, so that later searches see them. */
  refresh(changes: Pick<Changes, "written" | "removed">): Promise<void>;
}

/** The embedding model. The vectors of two models with different `id` cannot be compared. `dimensions`: length of a vector. */
export type ModelIdentity = { id: string; dimensions: number };

/** Ranks texts: returns a number for each; a higher number is a better answer. Errors: STORE_UNAVAILABLE, also after a time-out. */
export interface Reranker {
  rerank(question: string, texts: readonly string[], timeoutMs: number): Promise<number[]>;
}

/** Turns texts into vectors. */
export interface Embedder {
  readonly identity: ModelIdentity;
  /** Returns one vector per text, in the order given. Shape: Float32Array[dimensions], L2-normalised. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Returns the dot product, which is the cosine of two vectors of length 1. */
export function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
